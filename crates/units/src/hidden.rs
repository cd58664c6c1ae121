//! Characters that a terminal does not show: a name with them may look like another name, or do something.

/// Whether a terminal shows nothing for this character: a control character, or one of Unicode's format characters,
/// such as those that turn the direction of the text.
pub fn is_hidden(c: char) -> bool {
    // Of the general category Cf, those that are no letters or signs of a script.
    let is_format = matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    c.is_control() || is_format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_has_no_shape() {
        let hidden = "\u{1b}\n\u{7f}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}";
        assert!(hidden.chars().all(is_hidden));
        assert!(!"name 4711-ä-日本-±…é\u{301}".chars().any(is_hidden));
    }
}
