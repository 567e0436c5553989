//! The digest written down a second time: one thread, whole files, no chunks.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

pub(crate) const ZEROS: [u8; 32] = [0; 32];

/// The code and the digest of what lies at `path`: one thread, one hasher, whole files.
fn plain(path: &Path) -> (u8, [u8; 32]) {
    let kind = fs::symlink_metadata(path).expect("metadata").file_type();
    if kind.is_file() {
        (b'f', blake3::hash(&fs::read(path).expect("content")).into())
    } else if kind.is_dir() {
        let names = fs::read_dir(path)
            .expect("a list")
            .map(|entry| entry.expect("entry"));
        let records = names.map(|entry| {
            let (code, digest) = plain(&entry.path());
            (raw(&entry.file_name()), code, digest)
        });
        (b'd', plain_directory(records.collect()))
    } else if kind.is_symlink() {
        let target = fs::read_link(path).expect("a target");
        (
            b'l',
            blake3::derive_key("joint treehash v1 link", &raw(target.as_os_str())),
        )
    } else {
        (plain_special(path), ZEROS)
    }
}

pub(crate) fn plain_directory(mut records: Vec<(Vec<u8>, u8, [u8; 32])>) -> [u8; 32] {
    records.sort();
    let mut bytes = Vec::new();
    for (name, code, digest) in records {
        bytes.push(code);
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name);
        bytes.extend(digest);
    }
    blake3::derive_key("joint treehash v1 directory", &bytes)
}

#[cfg(unix)]
fn plain_special(path: &Path) -> u8 {
    use std::os::unix::fs::FileTypeExt;

    let kind = fs::symlink_metadata(path).expect("metadata").file_type();
    assert!(
        kind.is_fifo() || kind.is_socket(),
        "the tests make no other kind"
    );
    if kind.is_fifo() { b'p' } else { b's' }
}

#[cfg(not(unix))]
fn plain_special(_: &Path) -> u8 {
    unreachable!("the tests make no such kind here")
}

#[cfg(unix)]
fn raw(name: &OsStr) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(name).to_vec()
}

#[cfg(not(unix))]
fn raw(name: &OsStr) -> Vec<u8> {
    name.to_str()
        .expect("the tests make Unicode names here")
        .into()
}

pub(crate) fn plain_digest(path: &Path) -> String {
    hex(plain(path).1)
}

pub(crate) fn hex(digest: [u8; 32]) -> String {
    blake3::Hash::from_bytes(digest).to_string()
}
