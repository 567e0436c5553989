//! The items of one source file, without their bodies.

use super::{
    super::{lex::Kind, source::Source},
    words::{self, Word},
};

/// The kind of an item, as far as the snapshot treats it in its own way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// A function, a constant, a type alias and the like, or a field or variant.
    Plain,
    /// It has members: fields or variants.
    Type,
    /// All that it has is public.
    Trait,
    Impl,
    Module,
    Use,
    /// `macro_rules!`: its members are the items that an expansion may have.
    Macro,
    /// The call of a macro; its members are the items among the arguments.
    Call,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) what: What,
    /// Of an `impl`, the path of the type; of a `use`, what the path is called here.
    pub(crate) name: String,
    /// The path of a `use`, or of the trait of an `impl`.
    pub(crate) path: Vec<String>,
    pub(crate) is_public: bool,
    /// The arguments of each `cfg`, normalized.
    pub(crate) cfgs: Vec<String>,
    /// On one line, with the attributes that a user depends on, and without the body.
    pub(crate) head: String,
    pub(crate) has_body: bool,
    pub(crate) members: Vec<Item>,
}

/// The items of a file outside its tests.
pub(crate) fn items(source: &Source) -> Vec<Item> {
    let text: Vec<char> = source.text.chars().collect();
    let tokens = source.shipped();
    let tokens: Vec<_> = tokens.map(|(_, token)| Word::new(token, &text)).collect();
    Reader { words: &tokens }.items()
}

/// Attributes that a user of an item depends on.
const KEPT: [&str; 5] = [
    "deprecated",
    "derive",
    "macro_export",
    "non_exhaustive",
    "repr",
];

/// Words between the visibility and the keyword of an item.
const QUALIFIERS: [&str; 4] = ["async", "default", "extern", "unsafe"];

#[derive(Clone, Copy)]
struct Reader<'a> {
    words: &'a [Word],
}

/// The part of an item before its keyword.
#[derive(Default)]
struct Lead {
    cfgs: Vec<String>,
    attributes: String,
    is_public: bool,
}

impl<'a> Reader<'a> {
    fn text(&self, at: usize) -> &'a str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    fn part(&self, from: usize, to: usize) -> Self {
        let to = to.min(self.words.len());
        Self {
            words: &self.words[from.min(to)..to],
        }
    }

    /// One past the bracket that closes the one at `at`.
    fn closing(&self, at: usize) -> usize {
        let mut depth = 0;
        for end in at..self.words.len() {
            match self.text(end) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return end + 1;
            }
        }
        self.words.len()
    }

    /// The first of `ends` from `at` on that stands outside parentheses and square brackets.
    fn end(&self, mut at: usize, ends: &[&str]) -> usize {
        while at < self.words.len() && !ends.contains(&self.text(at)) {
            at = match self.text(at) {
                "(" | "[" => self.closing(at),
                _ => at + 1,
            };
        }
        at
    }

    /// Reads items, and skips what is none, as there is in a macro.
    fn items(self) -> Vec<Item> {
        let (mut items, mut at) = (Vec::new(), 0);
        while at < self.words.len() {
            let (lead, start) = self.lead(at);
            at = match self.item(lead, start) {
                Some((item, end)) => {
                    items.extend(item);
                    end
                }
                None => at + 1,
            };
        }
        items
    }

    /// Reads attributes and the visibility.
    fn lead(&self, mut at: usize) -> (Lead, usize) {
        let mut lead = Lead::default();
        while self.text(at) == "#" {
            let open = at + 1 + usize::from(self.text(at + 1) == "!");
            if self.text(open) != "[" {
                break;
            }
            let end = self.closing(open);
            self.part(open + 1, end - 1).attribute(&mut lead);
            at = end;
        }
        if self.text(at) == "pub" {
            lead.is_public = self.text(at + 1) != "(";
            at = match lead.is_public {
                true => at + 1,
                false => self.closing(at + 1),
            };
        }
        (lead, at)
    }

    fn attribute(&self, lead: &mut Lead) {
        let name = self.text(0);
        if name == "cfg" {
            lead.cfgs
                .push(self.part(2, self.words.len() - 1).rendered());
        } else if KEPT.contains(&name) || self.rendered() == "doc(hidden)" {
            lead.attributes += &format!("#[{}] ", self.rendered());
        }
    }

    /// Reads an item whose lead ends at `start`. Returns its end, and nothing else for one that has
    /// no name that others could use.
    fn item(&self, lead: Lead, start: usize) -> Option<(Option<Item>, usize)> {
        let mut at = start;
        while QUALIFIERS.contains(&self.text(at))
            || self.text(at).starts_with('"')
            || self.text(at) == "const"
                && ["async", "unsafe", "extern", "fn"].contains(&self.text(at + 1))
        {
            at += 1;
        }
        let body = |at| self.end(at, &["{", ";"]);
        let item = match self.text(at) {
            "fn" => self.plain(lead, start, at, body(at)),
            "const" | "static" => {
                let end = self.end(at, &["=", ";", "{"]);
                let (item, _) = self.plain(lead, start, at, end);
                (item, self.past(self.end_of_value(end)))
            }
            "type" => self.plain(lead, start, at, self.end(at, &[";"])),
            "struct" | "union" if self.is_name(at + 1) => self.structure(lead, start, at),
            "enum" if self.is_name(at + 1) => {
                let end = body(at);
                let close = self.closing(end);
                let members = self.part(end + 1, close - 1).variants();
                (
                    Item::new(What::Type, lead, self, start, at + 1, end).with(members),
                    close,
                )
            }
            "trait" if self.is_name(at + 1) => {
                let end = body(at);
                let close = self.closing(end);
                let members = self.part(end + 1, close - 1).items();
                (
                    Item::new(What::Trait, lead, self, start, at + 1, end).with(members),
                    close,
                )
            }
            "impl" => self.implementation(lead, start, at),
            "mod" if self.is_name(at + 1) => {
                let end = body(at);
                let close = match self.text(end) {
                    "{" => self.closing(end),
                    _ => end + 1,
                };
                let members = self.part(end + 1, close - 1).items();
                (
                    Item::new(What::Module, lead, self, start, at + 1, end).with(members),
                    close,
                )
            }
            "use" => {
                let end = self.end(at, &[";"]);
                let mut uses = Vec::new();
                self.part(at + 1, end).tree(&[], &mut uses);
                let members = uses.into_iter().map(Item::import).collect();
                (
                    Item::new(What::Use, lead, self, start, at + 1, end).with(members),
                    end + 1,
                )
            }
            "crate" => return Some((None, self.end(at, &[";"]) + 1)),
            "macro_rules" if self.text(at + 1) == "!" => {
                let close = self.closing(at + 3);
                let members = self.part(at + 4, close - 1).items();
                let mut item = Item::new(What::Macro, lead, self, start, at + 2, start);
                item.head += &format!("macro_rules! {}", item.name);
                (item.with(members), close)
            }
            _ if self.is_call(at) => {
                let close = self.closing(at + 2);
                let members = self.part(at + 3, close - 1).items();
                let mut item = Item::new(What::Call, lead, self, start, at, close);
                item.name = self.text(at).to_owned();
                (
                    item.with(members),
                    close + usize::from(self.text(close) == ";"),
                )
            }
            _ => return None,
        };
        Some((Some(item.0), item.1))
    }

    fn is_name(&self, at: usize) -> bool {
        self.text(at) == "$"
            || self
                .words
                .get(at)
                .is_some_and(|word| word.kind == Kind::Ident)
    }

    fn is_call(&self, at: usize) -> bool {
        let is_ident = self
            .words
            .get(at)
            .is_some_and(|word| word.kind == Kind::Ident);
        is_ident && self.text(at + 1) == "!" && ["(", "[", "{"].contains(&self.text(at + 2))
    }

    /// One past a body or a semicolon.
    fn past(&self, at: usize) -> usize {
        match self.text(at) {
            "{" => self.closing(at),
            _ => at + 1,
        }
    }

    /// The semicolon after a constant's value, which may have braces.
    fn end_of_value(&self, mut at: usize) -> usize {
        while at < self.words.len() && self.text(at) != ";" {
            at = match self.text(at) {
                "(" | "[" | "{" => self.closing(at),
                _ => at + 1,
            };
        }
        at
    }

    fn plain(&self, lead: Lead, start: usize, at: usize, end: usize) -> (Item, usize) {
        let mut item = Item::new(What::Plain, lead, self, start, at + 1, end);
        item.has_body = self.text(end) == "{";
        (item, self.past(end))
    }

    /// A struct of each form. Private fields of a tuple are written as `_`.
    fn structure(&self, lead: Lead, start: usize, at: usize) -> (Item, usize) {
        let end = self.end_of_generics(at + 2);
        if self.text(end) != "(" {
            let end = self.end(end, &["{", ";"]);
            let close = self.past(end);
            let members = match self.text(end) {
                "{" => self.part(end + 1, close - 1).fields(),
                _ => Vec::new(),
            };
            let item = Item::new(What::Type, lead, self, start, at + 1, end);
            return (item.with(members), close);
        }
        let close = self.closing(end);
        let after = self.end(close, &[";"]);
        let mut item = Item::new(What::Type, lead, self, start, at + 1, end);
        let fields = self.part(end + 1, close - 1).split();
        let fields = fields.iter().map(|field| {
            let (lead, at) = field.lead(0);
            match lead.is_public {
                true => format!("pub {}", field.part(at, field.words.len()).rendered()),
                false => "_".to_owned(),
            }
        });
        item.head += &format!("({})", fields.collect::<Vec<_>>().join(", "));
        if close < after {
            item.head += &format!(" {}", self.part(close, after).rendered());
        }
        (item, after + 1)
    }

    fn implementation(&self, lead: Lead, start: usize, at: usize) -> (Item, usize) {
        let end = self.end(at, &["{", ";"]);
        let close = self.past(end);
        let header = self.part(self.end_of_generics(at + 1), end);
        let mut item = Item::new(What::Impl, lead, self, start, at + 1, end);
        let split = (0..header.words.len())
            .find(|&at| header.text(at) == "for" && header.text(at + 1) != "<");
        let of = split.map_or(0, |at| at + 1);
        item.path = header.part(of, header.words.len()).type_path();
        item.name = match split {
            Some(at) => header.part(0, at).type_path().join("::"),
            None => String::new(),
        };
        (item.with(self.part(end + 1, close - 1).items()), close)
    }

    /// The path with which a type begins, without its generic arguments.
    fn type_path(&self) -> Vec<String> {
        let (mut path, mut at) = (Vec::new(), 0);
        while ["&", "!", "mut", "dyn"].contains(&self.text(at))
            || self
                .words
                .get(at)
                .is_some_and(|word| word.kind == Kind::Lifetime)
        {
            at += 1;
        }
        while self
            .words
            .get(at)
            .is_some_and(|word| word.kind == Kind::Ident)
        {
            path.push(self.text(at).to_owned());
            if self.text(at + 1) != "::" {
                break;
            }
            at += 2;
        }
        path
    }

    /// One past the generic parameters that begin at `at`, if there are any.
    fn end_of_generics(&self, at: usize) -> usize {
        if self.text(at) != "<" {
            return at;
        }
        let mut depth = 0;
        for end in at..self.words.len() {
            match self.text(end) {
                "<" => depth += 1,
                ">" if self.text(end - 1) != "-" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return end + 1;
            }
        }
        self.words.len()
    }

    /// The parts between commas.
    fn split(&self) -> Vec<Self> {
        let (mut parts, mut from, mut at) = (Vec::new(), 0, 0);
        while at < self.words.len() {
            at = match self.text(at) {
                "(" | "[" | "{" => self.closing(at),
                "<" => self.end_of_generics(at),
                "," => {
                    parts.push(self.part(from, at));
                    from = at + 1;
                    at + 1
                }
                _ => at + 1,
            };
        }
        if from < self.words.len() {
            parts.push(self.part(from, self.words.len()));
        }
        parts
    }

    fn fields(self) -> Vec<Item> {
        let parts = self.split();
        let fields = parts.iter().map(|field| {
            let (lead, at) = field.lead(0);
            Item::new(What::Plain, lead, field, at, at, field.words.len())
        });
        fields.filter(|field| field.is_public).collect()
    }

    fn variants(self) -> Vec<Item> {
        let parts = self.split();
        let variants = parts.iter().filter_map(|variant| {
            let (mut lead, at) = variant.lead(0);
            lead.is_public = true;
            let is_name = variant.is_name(at);
            let item = || Item::variant(lead, variant, at);
            is_name.then(item)
        });
        variants.collect()
    }

    /// Spells out a tree of imports: the path, and what it is called.
    fn tree(&self, prefix: &[String], found: &mut Vec<(Vec<String>, String)>) {
        for branch in self.split() {
            let (mut path, mut name, mut at) = (prefix.to_vec(), None, 0);
            while at < branch.words.len() {
                match branch.text(at) {
                    "{" => {
                        let end = branch.closing(at);
                        branch.part(at + 1, end - 1).tree(&path, found);
                        path.clear();
                        break;
                    }
                    "as" => {
                        name = Some(branch.text(at + 1).to_owned());
                        break;
                    }
                    "::" => {}
                    "self" if !path.is_empty() => {}
                    text => path.push(text.to_owned()),
                }
                at += 1;
            }
            if let Some(last) = path.last() {
                let name = name.unwrap_or_else(|| last.clone());
                found.push((path, name));
            }
        }
    }

    fn rendered(&self) -> String {
        words::line(self.words)
    }
}

impl Item {
    /// An item that is written from `start` to `end`, without its body.
    fn new(
        what: What,
        lead: Lead,
        reader: &Reader<'_>,
        start: usize,
        name: usize,
        end: usize,
    ) -> Self {
        let name = match reader.text(name) {
            "$" => format!("${}", reader.text(name + 1)),
            name => name.to_owned(),
        };
        let public = if lead.is_public { "pub " } else { "" };
        let head = reader.part(start, end).rendered();
        Self {
            what,
            name,
            path: Vec::new(),
            is_public: lead.is_public,
            cfgs: lead.cfgs,
            head: format!("{}{public}{head}", lead.attributes),
            has_body: false,
            members: Vec::new(),
        }
    }

    fn variant(lead: Lead, reader: &Reader<'_>, at: usize) -> Self {
        let attributes = lead.attributes.clone();
        let mut item = Self::new(What::Plain, lead, reader, at, at, reader.words.len());
        item.head = attributes + &reader.part(at, reader.words.len()).rendered();
        item
    }

    fn import((path, name): (Vec<String>, String)) -> Self {
        Self {
            what: What::Use,
            name,
            path,
            is_public: true,
            cfgs: Vec::new(),
            head: String::new(),
            has_body: false,
            members: Vec::new(),
        }
    }

    /// Whether a path can lead to it by this name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        matches!(self.what, What::Plain | What::Type | What::Trait) && self.name == name
    }

    /// The head of a trait's implementation, with the types that it chooses.
    pub(crate) fn with_types(&self) -> String {
        let types = self.members.iter().map(|member| &*member.head);
        let types: Vec<_> = types.filter(|head| head.starts_with("type ")).collect();
        match types.is_empty() {
            true => self.head.clone(),
            false => format!("{} {{ {} }}", self.head, types.join("; ")),
        }
    }

    fn with(mut self, members: Vec<Self>) -> Self {
        self.members = members;
        self
    }
}
