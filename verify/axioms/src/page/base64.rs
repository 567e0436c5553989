//! Bytes as text, as `atob` reads it.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..4 {
            let number = bits >> (18 - 6 * letter) & 63;
            let is_empty = letter > three.len();
            text.push(if is_empty {
                '='
            } else {
                char::from(LETTERS[number as usize])
            });
        }
    }
    text
}
