/* sextant/sextant.h: all of libsextant. docs/api.md is the guide. */
#ifndef SEXTANT_SEXTANT_H
#define SEXTANT_SEXTANT_H

#include <sextant/addr2line.h>
#include <sextant/archive.h>
#include <sextant/error.h>
#include <sextant/explain.h>
#include <sextant/ksym.h>
#include <sextant/ksym_writer.h>
#include <sextant/lidia.h>
#include <sextant/live.h>
#include <sextant/process.h>
#include <sextant/profile.h>
#include <sextant/record.h>
#include <sextant/remote.h>
#include <sextant/size.h>
#include <sextant/string.h>
#include <sextant/symbfile.h>
#include <sextant/symbols.h>
#include <sextant/trace.h>
#include <sextant/trace_view.h>
#include <sextant/version.h>

#endif
