// A box for addresses or a stack trace, and the text with names.
import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../common/format";
import { Answer, Binary, describe, idOf, listBinaries, Named, nameText, TextModule } from "./api";
import { Change, linkTo } from "./state";
import { asText, place } from "./texts";

const EXAMPLE = `    #0 0x55d0c8a01234  (/usr/bin/app+0x1234) (BuildId: 5b46f68c…)
./app(outer+0x3) [0x55d0c8a01162]
RIP: 0010:vfs_read+0x2c/0x310
0x401020`;

function Frames({ answer }: { answer: Answer }) {
  if (answer.frames.length === 0) return <p class="frames dim mono">{answer.address} is not in a function that is known</p>;
  return (
    <ol class="frames" aria-label={`Frames of ${answer.address}, innermost first`}>
      {answer.frames.map((frame) => (
        <li>
          <b class="function"><bdi>{frame.function ?? "??"}</bdi></b>{" "}
          <span class="place dim"><bdi>{place(frame)}</bdi></span>
          {frame.inlined && <span class="tag">inlined</span>}
        </li>
      ))}
    </ol>
  );
}

function Modules({ modules }: { modules: TextModule[] }) {
  if (modules.length === 0) return null;
  return (
    <details class="modules" open={modules.some((module) => !module.found)}>
      <summary>{modules.length === 1 ? "1 module" : `${count(modules.length)} modules`}, {count(modules.filter((module) => module.found).length)} found</summary>
      <ul>
        {modules.map((module) => (
          <li>
            {module.found ? <a href={linkTo({ file: idOf(module) })}><bdi>{module.name ?? idOf(module)}</bdi></a> : <bdi>{module.name ?? "(no name)"}</bdi>}{" "}
            {module.build_id !== null && <span class="mono dim">{module.build_id}</span>}{" "}
            {module.problem !== null && <span class="grown">{module.problem}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Result({ named }: { named: Named }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(asText(named));
    setCopied(true);
  };
  return (
    <section aria-label="Result">
      <div class="bar">
        <span role="status">{named.answered === 1 ? "1 address has a name" : `${count(named.answered)} addresses have names`}</span>
        {navigator.clipboard !== undefined && <button type="button" onClick={() => void copy()}>{isCopied ? "Copied" : "Copy as text"}</button>}
      </div>
      {!named.complete && <p class="error">There was no time for all of it: send less text at once.</p>}
      {named.warning !== null && <p class="error">{named.warning}</p>}
      <Modules modules={named.modules} />
      <div class="named" tabIndex={0} role="region" aria-label="Text with names">
        {named.lines.map((line) => (
          <div class={line.answers.length > 0 ? "line answered" : "line"}>
            <pre>{line.text === "" ? " " : line.text}</pre>
            {line.answers.map((answer) => <Frames answer={answer} />)}
          </div>
        ))}
      </div>
    </section>
  );
}

/** The binary that addresses without a module belong to. */
function Chosen({ file, change }: { file: string; change: Change }) {
  const [known, setKnown] = useState<Binary | null>(null);
  const [found, setFound] = useState<Binary[]>([]);
  const [typed, setTyped] = useState("");
  useEffect(() => {
    setKnown(null);
    if (file !== "") void describe(file).then(setKnown, () => setKnown(null));
  }, [file]);
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      if (typed.trim() !== "") void listBinaries(typed, undefined, controller.signal, 8).then((page) => setFound(page.files), () => setFound([]));
      else setFound([]);
    }, 150);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [typed]);
  if (file !== "")
    return (
      <p class="chosen">
        Addresses without a module are of <a href={linkTo({ file })}><bdi>{known?.name ?? file}</bdi></a>{" "}
        <button type="button" onClick={() => change({ file: "" })}>Choose another</button>
      </p>
    );
  return (
    <div class="chosen">
      <label>
        Binary of addresses without a module{" "}
        <input type="search" placeholder="Name, build ID or FileID" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      {found.length > 0 && (
        <ul aria-label="Binaries">
          {found.map((binary) => (
            <li>
              <button type="button" onClick={() => { setTyped(""); change({ file: idOf(binary) }); }}>
                <bdi>{binary.name ?? "(no name)"}</bdi> <span class="mono dim">{idOf(binary)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function Symbolizer({ file, isFixed = false, change }: { file: string; isFixed?: boolean; change: Change }) {
  const [named, setNamed] = useState<Named | null>(null);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const areReturns = useRef<HTMLInputElement>(null);
  const ask = async () => {
    setBusy(true);
    try {
      setNamed(await nameText(box.current!.value, file, areReturns.current?.checked ?? false));
      setProblem("");
    } catch (error) {
      setNamed(null);
      setProblem((error as Error).message);
    }
    setBusy(false);
  };
  return (
    <form
      class="symbolizer"
      onSubmit={(event) => {
        event.preventDefault();
        void ask();
      }}
    >
      {!isFixed && <Chosen file={file} change={change} />}
      <label class="box">
        {isFixed ? "Addresses of this binary, or a stack trace" : "Addresses or a stack trace: of backtrace(), Go, Rust, a sanitizer, perf script, a kernel oops"}
        <textarea
          ref={box}
          rows={8}
          spellcheck={false}
          placeholder={isFixed ? "0x401020\n0x4010a4" : EXAMPLE}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              void ask();
            }
          }}
        />
      </label>
      <div class="bar">
        <button type="submit" class="main" disabled={isBusy}>{isBusy ? "Looking up…" : "Symbolize"}</button>
        <span class="dim"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span>
        {file !== "" && (
          <label title="As in stacks: the call before each address is looked up">
            <input type="checkbox" ref={areReturns} /> these are return addresses
          </label>
        )}
      </div>
      {problem !== "" && <p class="error" role="alert">{problem}</p>}
      {named !== null && <Result named={named} />}
    </form>
  );
}
