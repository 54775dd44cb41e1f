// Files to save: the table as TSV and as an Excel workbook, drawings as PNG.
function save(name, blob) {
  const link = el('a', { download: name });
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// On the page's own ground: a transparent picture is unreadable on a dark slide.
function savePng(name, canvasNode) {
  const copy = el('canvas', { width: canvasNode.width, height: canvasNode.height });
  const context = copy.getContext('2d');
  context.fillStyle = getComputedStyle(document.querySelector('.card')).backgroundColor;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvasNode, 0, 0);
  copy.toBlob((blob) => save(`${data.patient}_${name}.png`, blob), 'image/png');
}
function pngButton(name, find) { return button('Save PNG', () => savePng(name, find()), { class: 'save-png', title: 'Save this drawing as a picture' }); }

function tableRows() {
  const header = ['name', 'shaft', 'rank', 'ez_score', 'ez_probability', 'prq_ez_score', 'bcr_ez_score', 'decision', 'spread',
    ...data.seizures.map((_, s) => `ez_score_s${s + 1}`), 'top_k_share', 'first_deviation_s', 'region', 'region_side', 'region_share', 'quality', 'resected'];
  return [header, ...shown.map((i) => {
    const c = contacts[i];
    return [c.name, c.shaft, c.rank, c.ez, c.p, c.prq, c.bcr, c.decision, c.ensembleSd, ...c.alone, c.top, c.first, regionOf(c)?.name, regionOf(c)?.side, regionOf(c)?.share, c.quality, data.resection ? (c.resected ? 'yes' : 'no') : null];
  })];
}

function saveTsv() {
  const cells = (line) => line.map((value) => {
    if (value === null || value === undefined) return 'n/a';
    const text = String(value).replace(/[\t\r\n]/g, ' ');
    return typeof value === 'string' && /^[=+\-@]/.test(text) ? `'${text}` : text;  // never a formula
  }).join('\t');
  save(`${data.patient}_contacts.tsv`, new Blob([`${tableRows().map(cells).join('\n')}\n`], { type: 'text/tab-separated-values' }));
}

function saveXlsx() { save(`${data.patient}_contacts.xlsx`, new Blob([zipOf(workbook(tableRows()))], { type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' })); }

// The four files that a workbook of one sheet needs; text is stored as text, never as a formula.
function workbook(rows) {
  const escaped = (text) => String(text).replace(/[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ' ').replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  const cell = (value) => (value === null || value === undefined ? '<c/>' : typeof value === 'number' ? `<c><v>${value}</v></c>` : `<c t="inlineStr"><is><t xml:space="preserve">${escaped(value)}</t></is></c>`);
  const about = [`EpiLENS, ${data.patient}: contacts ranked on ${data.analysed.date}. Research use only, not for diagnosis.`];
  const sheet = [...rows, [], about].map((row) => `<row>${row.map(cell).join('')}</row>`).join('');
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
  const types = 'http://schemas.openxmlformats.org/package/2006';
  const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const part = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  return {
    '[Content_Types].xml': `${head}<Types xmlns="${types}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${part}.sheet.main+xml"/><Override PartName="/xl/sheet.xml" ContentType="${part}.worksheet+xml"/></Types>`,
    '_rels/.rels': `${head}<Relationships xmlns="${types}/relationships"><Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships xmlns="${types}/relationships"><Relationship Id="rId1" Type="${office}/worksheet" Target="sheet.xml"/></Relationships>`,
    'xl/workbook.xml': `${head}<workbook xmlns="${main}" xmlns:r="${office}"><sheets><sheet name="contacts" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/sheet.xml': `${head}<worksheet xmlns="${main}"><sheetData>${sheet}</sheetData></worksheet>`,
  };
}

function crcOf(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

// A zip file without compression.
function zipOf(files) {
  const encoder = new TextEncoder();
  const little = (...fields) => fields.flatMap(([value, size]) => Array.from({ length: size }, (_, i) => (value >>> (8 * i)) & 255));
  const locals = [], directory = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const [path, content] = [encoder.encode(name), encoder.encode(text)];
    const shared = little([20, 2], [0x800, 2], [0, 2], [0, 2], [0x21, 2], [crcOf(content), 4], [content.length, 4], [content.length, 4], [path.length, 2], [0, 2]);
    const local = new Uint8Array([...little([0x04034b50, 4]), ...shared, ...path, ...content]);
    directory.push(...little([0x02014b50, 4], [20, 2]), ...shared, ...little([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]), ...path);
    locals.push(local);
    offset += local.length;
  }
  const n = locals.length;
  const end = little([0x06054b50, 4], [0, 2], [0, 2], [n, 2], [n, 2], [directory.length, 4], [offset, 4], [0, 2]);
  return new Uint8Array([...locals.flatMap((local) => [...local]), ...directory, ...end]);
}
