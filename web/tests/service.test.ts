import { describe, expect, it } from "vitest";
import { Binary, hexToBase64, idOf, searched } from "../src/service/api";
import { answeredBy, asText, extras, grade, place } from "../src/service/texts";

const FILE_ID = "77efa716a912a49217445787329fd29a";

const binary = (part: Partial<Binary>): Binary => ({
  tenant: null, file_id: null, build_id: null, name: null, arch: null, source: "elf", functions: 0, size: 0, created: null,
  missing: null, incomplete: null, ...part,
  quality: { symtab: false, dwarf: false, lines: false, inlines: false, go: false, returnpads: false, executable: false, debuginfo: false, ...part.quality },
});

describe("ids", () => {
  it("turns FileIDs into base64url and back", () => {
    expect(hexToBase64(FILE_ID)).toBe("d--nFqkSpJIXRFeHMp_Smg");
    expect(searched(" d--nFqkSpJIXRFeHMp_Smg ")).toBe(FILE_ID);
    expect(searched("d--nFqkSpJIXRFeHMp_Smg==")).toBe(FILE_ID);
  });
  it("leaves other text alone", () => {
    for (const text of ["", "app", "0123456789abcdef012345", "d--nFqkSpJIXRFeHMp_Sm"]) expect(searched(text)).toBe(text);
  });
  it("prefers build IDs", () => {
    expect(idOf({ build_id: "ab", file_id: "cd" })).toBe("ab");
    expect(idOf({ build_id: null, file_id: "cd" })).toBe("cd");
  });
});

describe("quality", () => {
  it("says how good answers are", () => {
    expect(grade(binary({ source: null })).level).toBe("none");
    expect(grade(binary({ functions: 3 })).word).toBe("functions");
    expect(grade(binary({ functions: 3, quality: { lines: true } as Binary["quality"] })).word).toBe("lines");
    expect(grade(binary({ quality: { lines: true, inlines: true } as Binary["quality"] })).level).toBe("good");
    expect(grade(binary({})).level).toBe("poor");
  });
  it("names where answers come from, and what else is here", () => {
    expect(answeredBy(binary({ source: "debug" }))).toBe("the debug file");
    expect(answeredBy(binary({ source: "later" }))).toBe("later");
    expect(extras(binary({ quality: { returnpads: true, executable: true, lines: true } as Binary["quality"] }))).toEqual(["return pads", "executable"]);
  });
});

describe("text with names", () => {
  it("is copied with its frames", () => {
    const frames = [
      { function: "inner", file: "/a.c", line: 3, inlined: true },
      { function: null, file: null, line: null, inlined: false },
    ];
    const lines = [{ text: "#0", answers: [{ module: "a", address: "0x1", frames }] }, { text: "0x2", answers: [{ module: null, address: "0x2", frames: [] }] }];
    const named = { lines, modules: [], answered: 1, complete: true, warning: null };
    expect(asText(named)).toBe("#0\n    inner /a.c:3 [inlined]\n    ??\n0x2\n    0x2 ??\n");
    expect(place({ file: "/a.c", line: null })).toBe("/a.c");
  });
});
