"""Seeds of the harness for what clients of the service send. See make-seeds."""

import zlib

# "symbfile", packed by zstd 1.5: a frame of one raw block.
ZSTD = bytes.fromhex("28b52ffd0458410000") + b"symbfile" + bytes.fromhex("23c9de21")


def seeds():
    yield "path", b"p/api/symbols-ranges"
    yield "path-escaped", b"p/buildid/00%61a/source/usr%2Fsrc/%2e%2e/a.c"
    yield "path-file", b"p/api/v1/files/%2e%2e/lidia"
    yield "headers", b"hHost: a\nContent-Length: 12\nFileID: d--nFqkSpJIXRFeHMp_Smg\nContent-Encoding: gzip"
    yield "headers-both", b"hTransfer-Encoding: chunked\ncontent-length : 3\nX:\n"
    yield "keys", b"k# keys\na:one\nb:sha256$" + b"0" * 64 + b":read,upload:team\n\0APIKey YTpvbmU="
    yield "keys-bearer", b"ka:one::t\n\0Bearer a:one"
    yield "range", b"rbytes=0-99"
    yield "tags", b'rW/"tag", "x"'
    yield "gzip", b"g" + pack(b"symbfile\0\1" * 20) + pack(b"x")
    yield "zstd", b"z" + ZSTD
    yield "message", b"m\n\x17\n\x04abcd\x1a\x02ff\"\x07program(\x02"
    yield "message-json", (
        b'j{"file":{"gnuBuildId":"ab\\u0063d","name":"x","type":"TYPE_EXECUTABLE_FULL"},"gnu_build_id":"ef"}'
    )
    yield "symbolicate", (
        b's{"jobs":[{"memoryMap":[["libc.so.6","627B03B886604653802321DD2256B8AD0"],["a",""]],'
        b'"stacks":[[[0,1716093],[1,7],[-1,-1]],[]]}],"version":5}'
    )
    yield "symbolicate-alone", b's{"stacks":[[[0,1]]],"memoryMap":[["a","0"]]}'
    yield "source", b'a{"debugName":"a","debugId":"627B03B886604653802321DD2256B8AD0","moduleOffset":"0x4b","file":"/a.c"}'
    yield "assembly", (
        b'a{"name":"a","codeId":"b8037b62","debugId":null,"startAddress":"0x58","size":"0x1c",'
        b'"continueUntilFunctionEnd":true}'
    )
    yield "questions", (
        b'q{"files":[{"build_id":"ab12","addresses":["0x1","0x2"],"kind":"file_offset"},'
        b'{"file_id":"d--nFqkSpJIXRFeHMp_Smg","addresses":[],"return_addresses":true}],"compact":true}'
    )
    yield "report-name", b"nci/main/app.size"
    yield "report-key", b"nci~main/0006606891756518-" + b"c5" * 32 + b"-size"
    yield "cookie", b"ca:one\n\0x=1; sextant=61.3e9." + b"ab" * 32


def pack(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()
