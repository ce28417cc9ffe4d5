// lookup.cpp: the same as lookup.c in C++, with a smart pointer that closes the archive.
//
//     c++ lookup.cpp $(pkg-config --cflags --libs sextant) -o lookup
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <sextant/sextant.h>

struct close_archive {
    void operator()(sxt_archive *archive) const { sxt_archive_close(&archive); }
};
using archive_pointer = std::unique_ptr<sxt_archive, close_archive>;

static std::string text(const sxt_string &view)
{
    return view.data != nullptr ? std::string(view.data, view.size) : std::string();
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::cerr << "usage: lookup FILE ADDRESS...\n";
        return 2;
    }
    sxt_archive *opened;
    sxt_error error;
    if (sxt_archive_open_path(argv[1], nullptr, &opened, &error) != SXT_OK) {
        std::cerr << argv[1] << ": " << error.text << '\n';
        return 1;
    }
    archive_pointer archive(opened);
    for (int i = 2; i < argc; i++) {
        std::vector<sxt_frame> frames(64);
        const uint64_t address = std::stoull(argv[i], nullptr, 16);
        const size_t count = sxt_archive_lookup(archive.get(), address, frames.data(), frames.size());
        frames.resize(count < frames.size() ? count : frames.size());
        std::cout << "0x" << std::hex << address << std::dec << (frames.empty() ? ": unknown\n" : ":\n");
        for (const sxt_frame &frame : frames)
            std::cout << "    " << text(frame.function) << ' ' << text(frame.file) << ':' << frame.line << '\n';
    }
    return 0;
}
