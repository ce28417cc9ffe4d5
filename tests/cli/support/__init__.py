"""What the tests of the command line share: a TAP runner, the program, ELF files, and the reference's Lidia rules."""
