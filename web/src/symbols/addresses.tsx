// The box of addresses, and the answers with their explanations.
import { useEffect, useState } from "preact/hooks";
import { counted } from "../common/format";
import { askJson } from "../common/served";
import { Answer, Explanation, Frame } from "./model";
import { batches, MOST_QUESTIONS, splitQuestions } from "./questions";
import { isSameAddress, lineText, offsetText, recordText } from "./words";

interface FormProps {
  text: string;
  field: { current: HTMLTextAreaElement | null };
  onAsk(text: string): void;
}

export function AddressForm({ text, field, onAsk }: FormProps) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const ask = () => onAsk(splitQuestions(typed).join("\n"));
  return (
    <form class="ask" aria-label="Look up addresses" onSubmit={(event) => { event.preventDefault(); ask(); }}>
      <label class="grow"><span class="hidden-label">Addresses</span>
        <textarea
          ref={field} rows={1} value={typed} spellcheck={false} autocomplete="off" placeholder="Addresses, main+0x12, +0x1136   a"
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); ask(); } }}
        />
      </label>
      <button>Look up</button>
    </form>
  );
}

interface Props {
  text: string;
  /** The records of explanations are those of an archive. */
  isArchive: boolean;
  onShow(index: number): void;
}

export function Addresses({ text, isArchive, onShow }: Props) {
  const [answers, setAnswers] = useState<Answer[]>([]);
  const [problem, setProblem] = useState("");
  const [isDone, setDone] = useState(false);
  const questions = splitQuestions(text);
  useEffect(() => {
    let isStale = false;
    setDone(false);
    setProblem("");
    const ask = async () => {
      let all: Answer[] = [];
      for (const batch of batches(questions)) {
        const part = await askJson<{ answers: Answer[] }>("addresses", { text: batch.join("\n"), explain: "1" });
        if (isStale) return;
        all = [...all, ...part.answers];
        setAnswers(all);
      }
      if (questions.length === 0) setAnswers([]);
      setDone(true);
    };
    ask().catch((error: Error) => { if (!isStale) setProblem(error.message); });
    return () => { isStale = true; };
  }, [text]);
  if (questions.length === 0)
    return (
      <div class="dim">
        <p>Give one address, or paste several: hexadecimal, with or without 0x.</p>
        <p><code>+0x1136</code> counts from where the file is loaded, <code>main+0x12</code> from a symbol. Lines of a backtrace are read too.</p>
      </div>
    );
  return (
    <>
      <p role="status" class="dim" id="answered">
        {isDone ? counted(answers.length, "answer") : "Looking up…"}{questions.length === MOST_QUESTIONS ? `; the first ${MOST_QUESTIONS} addresses are looked up` : ""}
      </p>
      {problem && <p class="error" role="alert">{problem}</p>}
      {answers.map((answer) => <AnswerCard answer={answer} isArchive={isArchive} onShow={onShow} />)}
    </>
  );
}

function AnswerCard({ answer, isArchive, onShow }: { answer: Answer; isArchive: boolean; onShow(index: number): void }) {
  const { address, frames, explanation } = answer.answer;
  const isAddress = /^0x[0-9a-f]+$/.test(address);
  return (
    <article class="answer" aria-label={answer.question}>
      <h2>
        <span class="mono"><bdi>{isAddress ? address : answer.question}</bdi></span>
        {isAddress && !isSameAddress(answer.question, address) && <span class="dim asked"><bdi>{answer.question}</bdi></span>}
        {answer.function !== null && <button class="small" onClick={() => onShow(answer.function!)}>Show function</button>}
      </h2>
      {answer.problem && <p class="error">{answer.problem}</p>}
      {frames.length === 0 && <p class="unknown">?? nothing is known about {isAddress ? "this address" : "this text"}</p>}
      {frames.length > 0 && <ol class="frames" aria-label="Functions, innermost first">{frames.map((frame) => <FrameLine frame={frame} address={address} />)}</ol>}
      {explanation && <Explained explanation={explanation} isArchive={isArchive} />}
    </article>
  );
}

function FrameLine({ frame, address }: { frame: Frame; address: string }) {
  return (
    <li>
      <div class="function"><bdi>{frame.function || "??"}</bdi>{frame.inlined && <span class="tag">inlined</span>}{frame.ambiguous && <span class="tag">folded</span>}</div>
      <div class="dim">
        {frame.file !== null && <span><bdi>{frame.file}</bdi>{frame.line !== null ? `:${frame.line}` : ""}</span>}
        {frame.start !== null && <span class="mono"> {offsetText(address, frame.start)} from {frame.start}</span>}
        {frame.module && <span> in <bdi>{frame.module}</bdi></span>}
      </div>
      {frame.aliases.length > 0 && <div class="dim">also {frame.aliases.map((alias, i) => <>{i > 0 ? ", " : ""}<bdi>{alias}</bdi></>)}</div>}
    </li>
  );
}

function Explained({ explanation, isArchive }: { explanation: Explanation; isArchive: boolean }) {
  const files = new Set([...explanation.frames.map((frame) => frame.file), explanation.line?.file ?? null]);
  const isSplit = files.size > 1;
  return (
    <dl class="fields explanation" aria-label="Explanation">
      {explanation.why !== null && <><dt>Why</dt><dd class="why">{explanation.why}</dd></>}
      {explanation.todo.length > 0 && <><dt>To do</dt><dd><ul>{explanation.todo.map((text) => <li>{text}</li>)}</ul></dd></>}
      {!isSplit && explanation.frames[0]?.file && <><dt>From</dt><dd class="long"><bdi>{explanation.frames[0].file}</bdi></dd></>}
      {explanation.frames.map((frame) => (
        <>
          <dt>Record</dt>
          <dd class="long">
            <bdi>{frame.function || "??"}</bdi>: <bdi>{recordText(frame, isArchive)}</bdi>
            {isSplit && frame.file && <div class="dim">in <bdi>{frame.file}</bdi></div>}
            {frame.name_from !== null && <div class="dim">name: <bdi>{frame.name_from}</bdi></div>}
            {frame.aliases.length > 0 && <div class="dim">also {frame.aliases.map((alias, i) => <>{i > 0 ? ", " : ""}<bdi>{alias}</bdi></>)}</div>}
          </dd>
        </>
      ))}
      {explanation.line && <><dt>Line</dt><dd class="long"><bdi>{lineText(explanation.line, isArchive)}</bdi>{isSplit && explanation.line.file && <div class="dim">in <bdi>{explanation.line.file}</bdi></div>}</dd></>}
      {explanation.tried.length > 0 && <><dt>Tried</dt><dd class="long">{explanation.tried.map((path) => <div><bdi>{path}</bdi></div>)}</dd></>}
    </dl>
  );
}
