// Names of the whole script as `var`: an engine looks for a name that a `let`, `const` or `class` gave by going through all
// of them, each time that one is mentioned, and there are thousands. A browser is spared the check that they are set, too.
export const vars = {
  name: "vars",
  renderChunk(code) {
    const called = this.parse(code).body[0].expression;
    const parts = [];
    let from = 0;
    const put = (node, until, text) => {
      parts.push(code.slice(from, node.start), text);
      from = until;
    };
    for (const node of called.callee.body.body) {
      if (node.type === "VariableDeclaration" && node.kind !== "var") {
        put(node, node.start + node.kind.length, "var");
      } else if (node.type === "ClassDeclaration") {
        put(node, node.end, `var ${node.id.name} = ${code.slice(node.start, node.end)};`);
      }
    }
    return { code: parts.join("") + code.slice(from), map: null };
  },
};
