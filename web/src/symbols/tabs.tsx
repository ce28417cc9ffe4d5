// A list of tabs: arrow keys move between them.

interface Props {
  id: string;
  label: string;
  tabs: { key: string; title: string; note?: string }[];
  chosen: string;
  onChoose(key: string): void;
}

export function Tabs({ id, label, tabs, chosen, onChoose }: Props) {
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.key === chosen);
    const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 };
    if (!(event.key in steps)) return;
    const next = tabs[(steps[event.key] + tabs.length) % tabs.length];
    onChoose(next.key);
    document.getElementById(`${id}-${next.key}`)?.focus();
    event.preventDefault();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab.key} id={`${id}-${tab.key}`} role="tab" aria-selected={tab.key === chosen} aria-controls={`${id}-body`}
          tabIndex={tab.key === chosen ? 0 : -1} onClick={() => onChoose(tab.key)}
        >
          {tab.title}{tab.note !== undefined && <span class="dim"> {tab.note}</span>}
        </button>
      ))}
    </div>
  );
}
