// A long name in a table may break after a dot, a line or a slash.
document$.subscribe(() => {
  for (const code of document.querySelectorAll("article td code, article th code")) {
    if (code.children.length) continue;
    const parts = code.textContent.split(/(?<=[._/=])(?=\w)/);
    code.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
});

// An option such as --onset does not break at its hyphens.
document$.subscribe(() => {
  for (const code of document.querySelectorAll("article code")) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) if (/--[a-z]/.test(walker.currentNode.data)) texts.push(walker.currentNode);
    for (const text of texts) {
      const parts = text.data.split(/(--[a-z][\w-]*)/).map((part, i) => {
        if (i % 2 === 0) return part;
        const span = document.createElement("span");
        span.className = "option";
        span.textContent = part;
        return span;
      });
      text.replaceWith(...parts);
    }
  }
});
