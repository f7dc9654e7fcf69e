//! Text widths without a font: an upper bound, so that text that fits here fits in any font of the stack.

use gpuc_syntax::shell::is_invisible;

/// The font stack. None of these fonts is wider than the table.
pub const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Ubuntu, 'DejaVu Sans', Helvetica, \
    Arial, sans-serif";

/// The height above the baseline, relative to the font size.
pub const ASCENT: f64 = 0.95;

/// The depth below the baseline, relative to the font size.
pub const DESCENT: f64 = 0.25;

/// Size and weight of text.
#[derive(Clone, Copy, Debug)]
pub struct Font {
    /// The size in pixels.
    pub size: f64,
    /// Whether the text is bold.
    pub bold: bool,
}

/// The advance widths of the characters from space to `~`, in hundredths of the size: those of `DejaVu Sans` 2.37, the
/// widest font of the stack, read from its `hmtx` table.
const REGULAR: [u8; 95] = [
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75,
    79, 61, 79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36,
    64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
];

/// The same of `DejaVu Sans Bold`.
const BOLD: [u8; 95] = [
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70,
    70, 70, 70, 40, 40, 84, 84, 84, 58, 100, 78, 77, 74, 83, 69, 69, 83, 84, 38, 38, 78, 64, 100,
    84, 85, 74, 85, 77, 72, 69, 82, 78, 111, 78, 73, 73, 46, 37, 46, 84, 50, 50, 68, 72, 60, 72,
    68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72,
    37, 72, 84,
];

/// The maximum width of a text.
pub fn text_width(text: &str, font: Font) -> f64 {
    let sum: f64 = text.chars().map(|it| character_width(it, font.bold)).sum();
    sum * font.size
}

/// The width of a character relative to the font size. Beyond ASCII, a script is as wide as its widest characters.
fn character_width(character: char, bold: bool) -> f64 {
    let table = if bold { &BOLD } else { &REGULAR };
    let code = u32::from(character);
    let index = usize::try_from(code.wrapping_sub(32)).unwrap_or(usize::MAX);
    if let Some(hundredths) = table.get(index) {
        return f64::from(*hundredths) / 100.0;
    }
    match code {
        // · and –
        0xb7 | 0x2013 => 0.55,
        0xd7 => 0.84,
        0x2026 => 1.0,
        // Very wide characters: the Basmala, long dashes, cuneiform, hieroglyphs.
        0xfdfa..=0xfdfd | 0x12000..=0x143ff => 12.0,
        0x2e3a | 0x2e3b => 3.2,
        0xa0..=0x2ff | 0x370..=0x6ff => 1.3,
        0x1100..=0x11ff | 0x2e80..=0xd7ff | 0xf900..=0xfaff | 0xff00..=0xffef => 1.2,
        0x10000.. => 1.6,
        _ => 1.8,
    }
}

/// The text in one line, without invisible characters and characters that XML forbids.
pub fn to_single_line(text: &str) -> String {
    let seen = |character| match character {
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        it if is_invisible(it) => ' ',
        it => it,
    };
    let text: String = text.chars().map(seen).collect();
    text.trim().to_owned()
}

/// The text if it fits, else as much of it as fits followed by `…`.
pub fn shorten(text: &str, font: Font, room: f64) -> String {
    if text_width(text, font) <= room {
        return text.to_owned();
    }
    let mut remaining = room - text_width("…", font);
    let mut shown = String::new();
    for character in text.chars() {
        remaining -= character_width(character, font.bold) * font.size;
        if remaining < 0.0 {
            break;
        }
        shown.push(character);
    }
    format!("{}…", shown.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: Font = Font {
        size: 10.0,
        bold: false,
    };

    #[test]
    fn long_text_is_shortened_to_fit() {
        assert_eq!(shorten("train", FONT, 100.0), "train");
        assert_eq!(shorten("train", FONT, 22.0), "tr…");
        for room in 10..80 {
            let room = f64::from(room);
            for text in [
                "a-rather-long-name",
                "日本語のとても長い名前",
                "🦀🦀🦀🦀🦀🦀",
            ] {
                assert!(
                    text_width(&shorten(text, FONT, room), FONT) <= room + 0.001,
                    "{text} in {room}"
                );
            }
        }
    }

    #[test]
    fn invisible_characters_are_removed() {
        assert_eq!(to_single_line("a\u{202e}b\u{0}\n"), "a b");
        assert_eq!(to_single_line("\u{ffff}"), "\u{fffd}");
    }

    #[test]
    fn bold_is_wider() {
        let bold = Font { bold: true, ..FONT };
        for character in ' '..='~' {
            assert!(
                character_width(character, true) >= character_width(character, false),
                "{character}"
            );
        }
        assert!(text_width("Nodes", bold) > text_width("Nodes", FONT));
    }
}
