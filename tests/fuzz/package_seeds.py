"""The seeds of the harnesses for Android packages and what is in them."""

import io
import zipfile

from support import android_writer as android
from support.android_writer import Class, Dex, Field, Method


def dex_files():
    used = (("java.lang.Object", Method("<init>")),)
    yield "small", Dex([Class("A")]).data
    yield "class", Dex([
        Class("org.a.B", interfaces=("java.lang.Runnable",), static_fields=(Field("COUNT", "int", 7),),
              fields=(Field("x", "long[]"),),
              methods=(Method("<init>", calls=used), Method("f", "int", ("int[]",), ("hello",), catches=True)),
              virtual_methods=(Method("run", strings=("hello",), has_debug=False), Method("g", has_code=False))),
        Class("org.a.C", interfaces=("java.lang.Runnable",), methods=(Method("<clinit>", strings=("hello",)),)),
    ]).data  # fmt: skip


def resources():
    yield "table", android.table([
        android.string_pool(["app"]),
        android.package("org.a", [
            android.string_pool(["layout"], utf8=False),
            android.string_pool(["main"]),
            android.type_specification(1, 2),
            android.type_chunk(1, android.configuration(at8=b"fr", at12=b"\x02", at36=b"Latn"), [b"12345678", None]),
            android.chunk(0x203, b"\0\0\0\0"),
        ]),
    ])  # fmt: skip
    yield "pack", android.pak([(12, b"text"), (13, b"")], aliases=[(14, 0)])
    yield "pack-4", android.pak([(12, b"text")], version=4)


def packages(library):
    contents = {"AndroidManifest.xml": b"", "classes.dex": dict(dex_files())["small"], "lib/arm/liba.so": library,
                "resources.arsc": dict(resources())["table"], "assets/a.pak": dict(resources())["pack"]}  # fmt: skip
    for name, method in ("package-stored", zipfile.ZIP_STORED), ("package-deflated", zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as file:
            for path, content in contents.items():
                file.writestr(zipfile.ZipInfo(path), content, method)
        yield name, out.getvalue()
    yield "package-signed", android.add_signing_block(out.getvalue())[0]
