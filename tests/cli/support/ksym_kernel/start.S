/*
 * start.S: where qemu's `virt` machine begins, and where the blob is. The MMU is off, so memory does not take unaligned
 * loads; the blob is at an odd address to show that the reader does not depend on them.
 */
    .section .text.start, "ax"
    .globl kernel_start
    .type kernel_start, %function
kernel_start:
    ldr x0, =stack_end
    mov sp, x0
    mov x29, xzr
    mov x30, xzr
    bl kernel_main
1:  wfi
    b 1b
    .size kernel_start, . - kernel_start

/* PSCI SYSTEM_OFF. */
    .globl power_off
    .type power_off, %function
power_off:
    ldr x0, =0x84000008
    hvc #0
2:  wfi
    b 2b
    .size power_off, . - power_off

    .section .ksym, "a"
    .balign 8
    .byte 0
    .globl ksym_start, ksym_end
ksym_start:
    .incbin BLOB
ksym_end:

    .section .bss
    .balign 16
    .skip 8192
stack_end:

    .section .note.GNU-stack, "", %progbits
