// What is wrong with a regular expression, before the server is asked: it takes POSIX extended ones.

/** "" if nothing is known to be wrong. */
export function patternProblem(text: string): string {
  const bare = text.replace(/\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]])*\]/g, "[x]");
  const say = (what: string) => "bad regular expression: " + what;
  const escape = /\\([0-9dDA-Za-z]|$)/.exec(bare.replace(/\\[wWsSbB]/g, "x"));
  if (escape) {
    if (escape[1] === "d" || escape[1] === "D") return say(`\\${escape[1]} is written ${escape[1] === "d" ? "[0-9]" : "[^0-9]"}`);
    return say(escape[1] === "" ? "a backslash at the end" : /\d/.test(escape[1]) ? "\\1 and the like are not supported" : `\\${escape[1]} has no meaning`);
  }
  const plain = bare.replace(/\\./g, "x");
  if (plain.includes("(?")) return say("(?...) is not supported");
  if (/\{(?!\d*,?\d*\})/.test(plain)) return say("'{' is followed by numbers as in {2,5}; \\{ is the character itself");
  if (plain.replaceAll("[x]", "").includes("[")) return say("'[' is not closed");
  const depth = [...plain].reduce((sum, letter) => (sum < 0 ? sum : sum + (letter === "(" ? 1 : letter === ")" ? -1 : 0)), 0);
  if (depth !== 0) return say(depth > 0 ? "'(' is not closed" : "')' is not opened");
  return "";
}
