/* frame_kind.h: which frames belong to the library of a language. A kind is a set of the values below. */
#ifndef SXT_MLYZE_FRAME_KIND_H
#define SXT_MLYZE_FRAME_KIND_H

#include <sextant/trace_view.h>

enum sxt_frame_kind {
    SXT_FRAME_C = 1,     /* libc and what is below it */
    SXT_FRAME_CXX = 2,   /* libstdc++ or libc++ */
    SXT_FRAME_OTHER = 4, /* Rust, Go, CPython */
    SXT_FRAME_LIBRARY = SXT_FRAME_C | SXT_FRAME_CXX | SXT_FRAME_OTHER,
    SXT_FRAME_LOADER = 8, /* of the loader */
    SXT_FRAME_KEEPS = 16, /* keeps memory until the program ends, and does not give it to its caller */
    SXT_FRAME_CUT = 32    /* not a frame: the recorder cut the stack here; it belongs to no library */
};

/* What the name of a function, and that of a file, say; the two together are the kind of a frame. 0: user code. */
unsigned sxt_frame_kind_of_function(sxt_string function);
unsigned sxt_frame_kind_of_file(sxt_string file);
unsigned sxt_frame_kind(unsigned of_function, unsigned of_file);

#endif
