// A long name in a table may break after a dot, a line or a slash.
document$.subscribe(() => {
  for (const code of document.querySelectorAll("article td code, article th code")) {
    if (code.children.length) continue;
    const parts = code.textContent.split(/(?<=[._/=])(?=\w)/);
    code.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
});
