// Pasted text to questions about addresses: one a line, or several addresses on a line.

const ADDRESS = /^\+?(0x)?[0-9a-f]{1,16}$/i;
/** ./app(main+0x12) [0x55d0c0de1136] */
const BACKTRACE = /\(([^\s]*\+0x[0-9a-f]+)\)\s*\[0x[0-9a-f]+\]/i;
/** #3  0x0000000000401136 in main () at a.c:3 */
const DEBUGGER = /^#\d+\s+(0x[0-9a-f]+) in /i;

export const MOST_QUESTIONS = 1000;
const LONGEST = 4000;

export function splitQuestions(text: string): string[] {
  const questions: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const trimmed = line.trim().slice(0, LONGEST);
    if (trimmed === "") continue;
    const words = trimmed.split(/[\s,;]+/).filter(Boolean);
    if (words.every((word) => ADDRESS.test(word))) questions.push(...words);
    else questions.push(BACKTRACE.exec(trimmed)?.[1] ?? DEBUGGER.exec(trimmed)?.[1] ?? trimmed);
    if (questions.length >= MOST_QUESTIONS) break;
  }
  return questions.slice(0, MOST_QUESTIONS);
}

/** Groups of questions that fit in one request each. */
export function batches(questions: string[], most = 50, letters = 6000): string[][] {
  const result: string[][] = [];
  let size = 0;
  for (const question of questions) {
    const last = result[result.length - 1];
    if (last && last.length < most && size + question.length <= letters) last.push(question);
    else {
      result.push([question]);
      size = 0;
    }
    size += question.length + 1;
  }
  return result;
}
