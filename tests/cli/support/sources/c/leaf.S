/* Two functions in assembler, with a macro. */
        .macro double register
        add     \register, \register
        .endm

        .text
        .globl  from_assembler
        .type   from_assembler, %function
from_assembler:
#if defined(__x86_64__)
        mov     %edi, %eax
        double  %eax
        cmp     $100, %eax
        ja      1f
        add     $1, %eax
1:      call    helper
        ret
#elif defined(__aarch64__)
        stp     x29, x30, [sp, -16]!
        bl      helper
        ldp     x29, x30, [sp], 16
        ret
#else
        .zero   16
#endif
        .size   from_assembler, . - from_assembler

        .type   helper, %function
helper:
#if defined(__x86_64__)
        xor     $0x55, %eax
        double  %eax
        ret
#elif defined(__aarch64__)
        add     w0, w0, w0
        ret
#else
        .zero   8
#endif
        .size   helper, . - helper

        .section .note.GNU-stack, "", %progbits
