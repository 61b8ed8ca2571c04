// The answer as rows: one for each argument, and one for each predicate that has none.

const COLUMNS = [
  { key: "sentence", title: "Sentence", look: "number wide" },
  { key: "predicate", title: "Predicate" },
  { key: "sense", title: "Sense" },
  { key: "type", title: "Type", look: "wide" },
  { key: "role", title: "Role" },
  { key: "meaning", title: "Meaning" },
  { key: "words", title: "Words", look: "words" },
  { key: "prob", title: "Probability", look: "number" },
];

export function rowsOf(result) {
  return result.sentences.flatMap((sentence, place) =>
    sentence.props.flatMap((prop) => {
      const shared = {
        sentence: place + 1,
        predicate: predicateOf(sentence, prop),
        sense: prop.sense ?? prop.lemma ?? "",
        type: prop.type ?? "",
      };
      const rows = prop.args.map((arg) => ({
        ...shared,
        role: arg.role,
        meaning: arg.meaning ?? "",
        words: wordsOf(sentence, arg.start, arg.end),
        prob: arg.prob === undefined ? "" : arg.prob.toFixed(2),
      }));
      return rows.length ? rows : [{ ...shared, role: "", meaning: "", words: "", prob: "" }];
    }),
  );
}

export function tableOf(rows) {
  const columns = COLUMNS.filter((column) => rows.some((row) => row[column.key] !== ""));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const column of columns) {
    add(head, "th", column.title, column.look).scope = "col";
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const column of columns) {
      add(line, "td", row[column.key], column.look);
    }
  }
  return table;
}

// Tabs and line ends in the words would make other cells of them.
export function textOf(rows) {
  const cells = (row) => COLUMNS.map((column) => String(row[column.key]).replace(/\s+/g, " "));
  return [COLUMNS.map((column) => column.title), ...rows.map(cells)].map((line) => line.join("\t")).join("\n") + "\n";
}

// "picked up" of "picked it up"
function predicateOf(sentence, prop) {
  const pieces = prop.v?.length ? prop.v : [[prop.pred, prop.pred + 1]];
  return pieces.map(([start, end]) => wordsOf(sentence, start, end)).join(" ");
}

// Offsets count code points, JavaScript's strings count UTF-16 units.
function wordsOf(sentence, start, end) {
  if (!sentence.text || !sentence.offsets) return sentence.tokens.slice(start, end).join(" ");
  const characters = Array.from(sentence.text);
  return characters.slice(sentence.offsets[start][0], sentence.offsets[end - 1][1]).join("");
}

function add(row, kind, text, look = "") {
  const cell = document.createElement(kind);
  cell.textContent = text;
  cell.className = look;
  row.append(cell);
  return cell;
}
