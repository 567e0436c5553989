//! Which of a crate's items others can name, and by which paths.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem, slice,
};

use super::items::{Item, What};

type Path = Vec<String>;

/// The path of a module, and a name in it.
type Place = (Path, String);

type Cfgs = BTreeSet<String>;

/// A way to name an item from outside. A path that ends with a `use` sorts behind others, and the
/// snapshot names an item by the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    is_use: bool,
    path: String,
    cfgs: Cfgs,
}

type Names = BTreeMap<Place, BTreeSet<Name>>;

/// A crate's modules by their paths from its root.
#[derive(Debug)]
pub(crate) struct Crate {
    name: String,
    modules: BTreeMap<Path, Module>,
}

#[derive(Debug, Default)]
struct Module {
    cfgs: Cfgs,
    is_public: bool,
    items: Vec<Item>,
}

/// Where a path leads.
enum Target {
    Item(Place),
    Module(Path),
    /// To another crate, or to what a macro makes.
    Elsewhere(Path),
}

/// How many imports of imports are followed.
const MOST_IMPORTS: usize = 16;

impl Crate {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            modules: BTreeMap::new(),
        }
    }

    /// Adds the items of a module, or of a part of it.
    pub(crate) fn add(&mut self, path: &[String], items: Vec<Item>) {
        for mut item in items {
            match item.what {
                What::Module => {
                    let inner = [path, &[item.name.clone()]].concat();
                    let module = self.modules.entry(inner.clone()).or_default();
                    module.is_public = item.is_public;
                    module.cfgs.extend(item.cfgs);
                    self.add(&inner, item.members);
                    continue;
                }
                What::Call => self.add(path, mem::take(&mut item.members)),
                _ => {}
            }
            let module = self.modules.entry(path.to_vec()).or_default();
            module.items.push(item);
        }
    }

    /// The snapshot: a line for each item, sorted.
    pub(crate) fn lines(&self) -> BTreeSet<String> {
        let mut lines = Lines::default();
        let mut names = Names::new();
        let root = Name {
            is_use: false,
            path: self.name.clone(),
            cfgs: Cfgs::new(),
        };
        self.walk(&[], &root, &mut names, &mut lines);
        for (place, paths) in &names {
            self.named(place, paths, &mut lines);
        }
        let templates = self.templates(&mut lines);
        for (path, module) in &self.modules {
            let cfgs = self.cfgs(path);
            for item in &module.items {
                let cfgs = with(&cfgs, &item.cfgs);
                if item.what == What::Impl {
                    self.implementation(path, item, &cfgs, &names, &mut lines);
                } else if item.what == What::Call && templates.contains(&item.name) {
                    lines.add(&self.written(path), &cfgs, &item.head);
                }
            }
        }
        lines.0
    }

    /// The cfgs on a module and on those around it.
    fn cfgs(&self, path: &[String]) -> Cfgs {
        let modules = (0..=path.len()).filter_map(|length| self.modules.get(&path[..length]));
        modules.flat_map(|module| module.cfgs.clone()).collect()
    }

    /// Collects what a module makes public, by the name under which others reach the module.
    fn walk(&self, path: &[String], name: &Name, names: &mut Names, lines: &mut Lines) {
        let items = self
            .modules
            .get(path)
            .map_or(&[][..], |module| &module.items);
        for item in items.iter().filter(|item| item.is_public) {
            match item.what {
                What::Use => {
                    let name = name.with(&item.cfgs);
                    for import in &item.members {
                        self.import(path, import, &name, names, lines);
                    }
                }
                What::Plain | What::Type | What::Trait => {
                    let place = (path.to_vec(), item.name.clone());
                    names
                        .entry(place)
                        .or_default()
                        .insert(name.inside(&item.name));
                }
                _ => {}
            }
        }
        let is_child = |child: &Path| child.len() == path.len() + 1 && child.starts_with(path);
        for (child, module) in &self.modules {
            if is_child(child) && module.is_public {
                let name = name.inside(&child[path.len()]).with(&module.cfgs);
                lines.add(&name.path, &name.cfgs, "pub mod");
                self.walk(child, &name, names, lines);
            }
        }
    }

    /// One path of a `pub use`.
    fn import(
        &self,
        at: &[String],
        import: &Item,
        name: &Name,
        names: &mut Names,
        lines: &mut Lines,
    ) {
        if let Some((last, parent)) = import.path.split_last().filter(|(last, _)| *last == "*") {
            match self.resolve(at, parent, MOST_IMPORTS) {
                Target::Module(path) => self.walk(&path, name, names, lines),
                _ => lines.add(
                    &name.path,
                    &name.cfgs,
                    &format!("pub use {}::{last}", parent.join("::")),
                ),
            }
            return;
        }
        let mut name = name.inside(&import.name);
        name.is_use = true;
        match self.resolve(at, &import.path, MOST_IMPORTS) {
            Target::Item(place) => drop(names.entry(place).or_default().insert(name)),
            Target::Module(path) => {
                lines.add(&name.path, &name.cfgs, "pub mod");
                self.walk(&path, &name, names, lines);
            }
            Target::Elsewhere(path) => {
                lines.add(
                    &name.path,
                    &name.cfgs,
                    &format!("pub use {}", path.join("::")),
                );
            }
        }
    }

    fn resolve(&self, from: &[String], path: &[String], most: usize) -> Target {
        let (mut at, mut rest) = (from.to_vec(), path);
        match path.first().map(String::as_str) {
            Some("crate") => (at, rest) = (Path::new(), &path[1..]),
            Some("self") => rest = &path[1..],
            _ => {}
        }
        while rest.first().is_some_and(|segment| segment == "super") {
            at.pop();
            rest = &rest[1..];
        }
        let is_absolute = rest.len() < path.len();
        while let Some((name, others)) = rest.split_first() {
            let items = self
                .modules
                .get(&at)
                .map_or(&[][..], |module| &module.items);
            if others.is_empty() && items.iter().any(|item| item.is_named(name)) {
                return Target::Item((at, name.clone()));
            }
            let inner = [&at[..], slice::from_ref(name)].concat();
            let mut imports = items.iter().flat_map(|item| match item.what {
                What::Use => &item.members[..],
                _ => &[],
            });
            // A function may have the name of the module that it is from.
            let is_import = others.is_empty() && imports.clone().any(|import| import.name == *name);
            if is_import || !self.modules.contains_key(&inner) {
                return match imports.find(|import| import.name == *name) {
                    Some(import) if most > 0 => {
                        self.resolve(&at, &[&import.path, others].concat(), most - 1)
                    }
                    _ if is_absolute || at != from => {
                        Target::Elsewhere([&[self.name.clone()][..], &at, rest].concat())
                    }
                    _ => Target::Elsewhere(path.to_vec()),
                };
            }
            (at, rest) = (inner, others);
        }
        Target::Module(at)
    }

    /// The items of a name, of which there are several under different cfgs.
    fn named(&self, (path, name): &Place, paths: &BTreeSet<Name>, lines: &mut Lines) {
        let around = self.cfgs(path);
        let mut paths = paths.iter();
        let Some(first) = paths.next() else { return };
        for other in paths {
            lines.add(
                &other.path,
                &with(&around, &other.cfgs),
                &format!("pub use {}", first.path),
            );
        }
        let items = self.modules[path].items.iter();
        for item in items.filter(|item| item.is_public && item.is_named(name)) {
            let cfgs = with(&with(&around, &first.cfgs), &item.cfgs);
            lines.add(&first.path, &cfgs, &item.head);
            for member in &item.members {
                let path = format!("{}::{}", first.path, member.name);
                let end = if member.has_body { " { .. }" } else { "" };
                let head = format!("{}{end}", member.head);
                lines.add(&path, &with(&cfgs, &member.cfgs), &head);
            }
        }
    }

    /// The items that an `impl` adds to a type or a trait that others can name.
    fn implementation(
        &self,
        at: &[String],
        item: &Item,
        cfgs: &Cfgs,
        names: &Names,
        lines: &mut Lines,
    ) {
        let name_of = |path: &[String]| match self.resolve(at, path, MOST_IMPORTS) {
            Target::Item(place) => names.get(&place).and_then(BTreeSet::first),
            _ => None,
        };
        let is_local =
            |path: &[String]| !matches!(self.resolve(at, path, MOST_IMPORTS), Target::Elsewhere(_));
        let of_trait: Path = item.name.split("::").map(str::to_owned).collect();
        let is_inherent = item.name.is_empty();
        let is_private = |path: &[String]| is_local(path) && name_of(path).is_none();
        if !is_inherent && is_private(&of_trait) {
            return;
        }
        let name = match name_of(&item.path) {
            Some(name) => name,
            // What a trait of the crate has for types of others.
            None if !is_inherent && !is_private(&item.path) => match name_of(&of_trait) {
                Some(name) => name,
                None => return,
            },
            None => return,
        };
        let cfgs = with(cfgs, &Vec::from_iter(name.cfgs.clone()));
        match is_inherent {
            true => inherent(&name.path, item, &item.members, &cfgs, lines),
            false => lines.add(&name.path, &cfgs, &item.with_types()),
        }
    }

    /// The items that the crate's own macros expand to. Returns the names of these macros.
    fn templates(&self, lines: &mut Lines) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (path, module) in &self.modules {
            let macros = module.items.iter().filter(|item| item.what == What::Macro);
            for item in macros {
                let cfgs = with(&self.cfgs(path), &item.cfgs);
                let path = format!("{}::{}!", self.name, item.name);
                if item.head.starts_with("#[macro_export]") {
                    lines.add(&path, &cfgs, &item.head);
                    continue;
                }
                let before = lines.0.len();
                for item in &item.members {
                    let cfgs = with(&cfgs, &item.cfgs);
                    match item.what {
                        What::Impl if item.name.is_empty() => {
                            inherent(&path, item, &item.members, &cfgs, lines);
                        }
                        What::Impl => lines.add(&path, &cfgs, &item.with_types()),
                        _ if item.is_public => {
                            lines.add(&path, &cfgs, &item.head);
                            for member in &item.members {
                                lines.add(&path, &with(&cfgs, &member.cfgs), &member.head);
                            }
                        }
                        _ => {}
                    }
                }
                if lines.0.len() > before {
                    names.insert(item.name.clone());
                }
            }
        }
        names
    }

    fn written(&self, path: &[String]) -> String {
        [slice::from_ref(&self.name), path].concat().join("::")
    }
}

/// The public functions of an `impl`, with those among the arguments of macros.
fn inherent(name: &str, around: &Item, members: &[Item], cfgs: &Cfgs, lines: &mut Lines) {
    for member in members {
        let cfgs = with(cfgs, &member.cfgs);
        let line = format!("{} {{ {} }}", around.head, member.head);
        match member.what {
            What::Call if member.members.is_empty() => lines.add(name, &cfgs, &line),
            What::Call => inherent(name, around, &member.members, &cfgs, lines),
            _ if member.is_public => lines.add(&format!("{name}::{}", member.name), &cfgs, &line),
            _ => {}
        }
    }
}

impl Name {
    fn inside(&self, name: &str) -> Self {
        Self {
            path: format!("{}::{name}", self.path),
            ..self.clone()
        }
    }

    fn with<'a>(&self, cfgs: impl IntoIterator<Item = &'a String>) -> Self {
        let mut name = self.clone();
        name.cfgs.extend(cfgs.into_iter().cloned());
        name
    }
}

fn with<'a>(cfgs: &'a Cfgs, more: impl IntoIterator<Item = &'a String>) -> Cfgs {
    cfgs.iter().chain(more).cloned().collect()
}

#[derive(Debug, Default)]
struct Lines(BTreeSet<String>);

impl Lines {
    /// Adds a line, unless only models and documentation tests compile the item.
    fn add(&mut self, path: &str, cfgs: &Cfgs, text: &str) {
        let always = "not(joint_loom)";
        let is_for = |cfg: &str| cfg.replace(always, "").contains("joint_loom") || cfg == "doctest";
        if cfgs.iter().any(|cfg| is_for(cfg)) {
            return;
        }
        let beside = format!("all({always}, ");
        let cfgs = cfgs.iter().filter(|cfg| *cfg != always);
        let cfgs: Cfgs = cfgs
            .map(|cfg| match cfg.strip_prefix(&beside) {
                Some(cfg) if !cfg.contains(',') => cfg[..cfg.len() - 1].to_owned(),
                _ => cfg.clone(),
            })
            .collect();
        let cfgs: String = cfgs.iter().map(|cfg| format!("#[cfg({cfg})] ")).collect();
        self.0.insert(format!("{path}: {cfgs}{text}"));
    }
}
