/* sanitized.h: SANITIZED is 1 in a build with AddressSanitizer or ThreadSanitizer, which need much address space. */
#ifndef SXT_TESTS_SANITIZED_H
#define SXT_TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
