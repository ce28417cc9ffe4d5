// What is searched: a regular expression, without regard to case.

/** Null if there is nothing to search, or if it is not a regular expression. */
export function pattern(text: string): RegExp | null {
  try {
    return text === "" ? null : new RegExp(text, "i");
  } catch {
    return null;
  }
}
