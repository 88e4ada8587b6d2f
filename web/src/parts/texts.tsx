/** Texts of memories: always text nodes, never HTML, whatever stands in them. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";

const COMMON = new Set(
  "a an and are as at be but by can did do does for from had has have how if in into is it its not of on or our should so than that the their them then there they this to was we were what when where which who why will with you your".split(
    " ",
  ),
);

/** Scripts without spaces between words: a word is marked wherever it stands. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** The words of a question that are worth marking, as one expression; null for none. */
export function wordsOf(query: string): RegExp | null {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_.-]{2,}/gu) ?? [])]
    .map((word) => word.replace(/^[.-]+|[.-]+$/g, ""))
    .filter((word) => word.length > 1 && !COMMON.has(word))
    // Other forms of a word have its beginning in common.
    .map((word) => {
      const quoted = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      if (UNSPACED.test(word)) return quoted;
      return `(?<![\\p{L}\\p{N}])${word.length > 5 ? quoted.slice(0, -1) : quoted}[\\p{L}\\p{N}]*`;
    });
  return words.length ? new RegExp(words.join("|"), "giu") : null;
}

export function Marked({ text, words }: { text: string; words: RegExp | null }): JSX.Element {
  if (!words) return <>{text}</>;
  const parts: (string | JSX.Element)[] = [];
  let from = 0;
  for (const found of text.matchAll(words)) {
    if (found.index > from) parts.push(text.slice(from, found.index));
    parts.push(<mark key={found.index}>{found[0]}</mark>);
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return <>{parts}</>;
}

interface Block {
  form: "heading" | "code" | "text";
  text: string;
}

/** Headings, code and the rest, told apart by lines alone: enough to read a note without rendering it. */
function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let fence = false;
  for (const line of text.split("\n")) {
    if (/^\s*(```|~~~)/.test(line)) {
      fence = !fence;
      if (fence) blocks.push({ form: "code", text: "" });
      else blocks.push({ form: "text", text: "" });
      continue;
    }
    const heading = !fence && /^#{1,6}\s+\S/.test(line);
    const form = fence ? "code" : heading ? "heading" : "text";
    const last = blocks.at(-1);
    if (last && last.form === form && form !== "heading") last.text += last.text ? `\n${line}` : line;
    else blocks.push({ form, text: heading ? line.replace(/^#+\s+/, "") : line });
  }
  return blocks.map((block) => ({ ...block, text: block.text.replace(/^\n+|\s+$/g, "") })).filter((block) => block.text);
}

const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`)/;

/** Bold and code within a line; the rest as it is. */
export function Inline({ text, words = null }: { text: string; words?: RegExp | null }): JSX.Element {
  return (
    <>
      {text.split(INLINE).map((part, index) => {
        if (part.startsWith("**") && part.length > 4) {
          return (
            <strong key={index}>
              <Marked text={part.slice(2, -2)} words={words} />
            </strong>
          );
        }
        if (part.startsWith("`") && part.length > 2) {
          return (
            <code key={index}>
              <Marked text={part.slice(1, -1)} words={words} />
            </code>
          );
        }
        return <Marked key={index} text={part.replace(/^(\s*)[-*] /gm, "$1• ")} words={words} />;
      })}
    </>
  );
}

const LONG = 900;

/** A text as a person reads it; of a long one the beginning, until the rest is asked for. */
export function Prose({
  text,
  title,
  words,
}: {
  text: string;
  title: string;
  words: RegExp | null;
}): JSX.Element {
  const [whole, setWhole] = useState(text.length < LONG);
  const blocks = blocksOf(text);
  // The title stands above already.
  if (blocks.length > 1 && blocks[0]!.form === "heading" && blocks[0]!.text === title) blocks.shift();
  return (
    <>
      <div class={whole ? "prose" : "prose short"}>
        {blocks.map((block, index) => {
          if (block.form === "heading") {
            return (
              <h4 key={index}>
                <Inline text={block.text} words={words} />
              </h4>
            );
          }
          if (block.form === "code") {
            return (
              <pre key={index}>
                <Marked text={block.text} words={words} />
              </pre>
            );
          }
          return (
            <p key={index}>
              <Inline text={block.text} words={words} />
            </p>
          );
        })}
      </div>
      {!whole && (
        <button
          type="button"
          class="link"
          onClick={() => {
            setWhole(true);
          }}
        >
          Show the whole text
        </button>
      )}
    </>
  );
}

/** An excerpt: on few lines, without the signs of markdown and without its title, which stands above. */
export function plain(text: string, title = ""): string {
  const found = text
    .replace(/^---\n[\s\S]*?\n---\n/, "")
    .replace(/```\w*|(^|\s)#{1,6}(?=\s)/gm, " ")
    .replace(/\*\*|`/g, "")
    .replace(/(?<=^|\s)([-*]|-{3,})(?=\s)/gm, "·")
    .replace(/\s+/g, " ")
    .replace(/^[ ·]+/, "")
    .trim();
  return title && found.startsWith(title) ? found.slice(title.length).replace(/^[\s·:.-]+/, "") : found;
}
