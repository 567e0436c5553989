// Looks up each `#[doc(alias = "...")]` of the packages by rustdoc's own search, in the built
// documentation: `node search.mjs DOC CRATE=FOLDER...`. rustdoc drops an alias on an item of a
// private module that is re-exported, so the line that re-exports the item must have it.

import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [doc, ...packages] = process.argv.slice(2);

// As the compiler's own `rustdoc-js` tests start it.
const require = createRequire(import.meta.url);
const statics = resolve(doc, "static.files");
const file = (name) => readdirSync(statics).find((file) => file.startsWith(name));
if (!file("stringdex-")) {
    console.log("skipped: this compiler's rustdoc has another search");
    process.exit();
}
const script = (name) => join(statics, file(name));
globalThis.nonnull = globalThis.nonundef = (value) => value; // of another script of the page
const { Stringdex, RoaringBitmap } = require(script("stringdex-"));
const load = (file) => (0, eval)(readFileSync(join(doc, "search.index", `${file}.js`), "utf8"));
const { docSearch, DocSearch } = await require(script("search-")).initSearch(Stringdex, RoaringBitmap, {
    loadRoot: (callbacks) => {
        Object.assign(globalThis, callbacks);
        load("root");
    },
    loadTreeByHash: load,
    loadDataByNameAndHash: (name, hash) => load(`${name}/${hash}`),
});

// How many items the search finds by the alias.
async function found(alias, crate) {
    const results = await docSearch.execQuery(DocSearch.parseQuery(alias), crate, crate);
    let count = 0;
    for await (const result of results.others) {
        count += result.is_alias && result.alias === alias ? 1 : 0;
    }
    return count;
}

let lost = 0;
let count = 0;
for (const [crate, folder] of packages.map((one) => one.split("="))) {
    const sources = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".rs"));
    const source = sources.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
    const items = new Map();
    for (const [, alias] of source.matchAll(/^\s*#\[doc\(alias = "(.*)"\)\]$/gm)) {
        items.set(alias, (items.get(alias) ?? 0) + 1);
    }
    for (const [alias, expected] of items) {
        const now = await found(alias, crate);
        count += expected;
        // More, if a macro declares several such items.
        if (now < expected) {
            console.error(`${crate}: the alias "${alias}" of ${expected} items finds ${now}`);
            lost += 1;
        }
    }
}
console.log(`${count} aliases are looked up`);
process.exit(count === 0 || lost > 0 ? 1 : 0);
