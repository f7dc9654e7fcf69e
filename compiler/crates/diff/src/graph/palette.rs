//! Colors by role, for light and dark themes.

/// A color, formatted as `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub u32);

impl std::fmt::Display for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:06x}", self.0)
    }
}

impl Color {
    /// The contrast of two colors, from 1 to 21.
    ///
    /// Source: <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>, 2026-11-22.
    pub fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance(), other.luminance());
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn luminance(self) -> f64 {
        let channel = |shift: u32| {
            let value = f64::from(self.0 >> shift & 0xff) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
    }
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

/// The meaning of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The whole picture.
    Background,
    /// A panel on it.
    Panel,
    /// A part of a panel: a machine.
    Inset,
    /// A full GPU.
    Gpu,
    /// A MIG device.
    MigDevice,
    /// A time-slicing replica.
    TimeSlice,
    /// An MPS replica.
    MpsReplica,
    /// An unused part of a GPU.
    Unused,
    /// A node of the minimum, or the capacity of such nodes.
    Node,
    /// A node that the autoscaler may add, or the capacity of such nodes.
    OptionalNode,
    /// An advertised resource.
    Advertised,
    /// A taint.
    Taint,
    /// A workload.
    Workload,
    /// The quota limit of a team.
    Limit,
    /// The guaranteed quota of a team.
    Guaranteed,
    /// Kubernetes objects.
    Objects,
    /// A Helm release.
    Chart,
}

/// The color of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ink {
    /// Primary text.
    Strong,
    /// Secondary text.
    Soft,
}

/// One row of the palette: fill and stroke in light, fill and stroke in dark.
type RoleColors = (Role, &'static str, [u32; 4]);

/// Every role with its class. Fills are backgrounds of text; strokes outline the shape.
const ROLES: [RoleColors; 17] = [
    (
        Role::Background,
        "page",
        [0xf5_f7fa, 0xf5_f7fa, 0x10_151b, 0x10_151b],
    ),
    (
        Role::Panel,
        "card",
        [0xff_ffff, 0xd9_dfe7, 0x19_2029, 0x2f_3947],
    ),
    (
        Role::Inset,
        "inset",
        [0xf3_f5f8, 0xd9_dfe7, 0x21_2a35, 0x36_4252],
    ),
    (
        Role::Gpu,
        "gpu",
        [0xcf_eadf, 0x2b_8562, 0x1c_4637, 0x4f_b98f],
    ),
    (
        Role::MigDevice,
        "slice",
        [0xdf_e0fa, 0x62_66c9, 0x33_3669, 0x90_94f2],
    ),
    (
        Role::TimeSlice,
        "turn",
        [0xfb_e5bd, 0x9c_6b10, 0x4c_3b13, 0xd8_a743],
    ),
    (
        Role::MpsReplica,
        "share",
        [0xf8_dcec, 0xb2_4a88, 0x50_2a43, 0xd9_82b6],
    ),
    (
        Role::Unused,
        "free",
        [0xff_ffff, 0x7c_8796, 0x19_2029, 0x82_8fa0],
    ),
    (
        Role::Node,
        "node",
        [0xcb_d8e8, 0x54_7193, 0x31_435b, 0x8d_a9cb],
    ),
    (
        Role::OptionalNode,
        "later",
        [0xff_ffff, 0x54_7193, 0x19_2029, 0x8d_a9cb],
    ),
    (
        Role::Advertised,
        "offer",
        [0xe9_eef4, 0x72_7f90, 0x29_323e, 0x85_92a4],
    ),
    (
        Role::Taint,
        "taint",
        [0xfb_dfdc, 0xbd_5047, 0x50_2725, 0xe2_7d73],
    ),
    (
        Role::Workload,
        "work",
        [0xd6_e8fb, 0x37_7cbd, 0x1e_3d5c, 0x68_abe9],
    ),
    (
        Role::Limit,
        "limit",
        [0xe8_f3de, 0x5f_8c39, 0x24_3319, 0x8f_bd64],
    ),
    (
        Role::Guaranteed,
        "kept",
        [0xb4_d794, 0x5f_8c39, 0x40_6128, 0x8f_bd64],
    ),
    (
        Role::Objects,
        "objects",
        [0xff_ffff, 0x54_7193, 0x19_2029, 0x8d_a9cb],
    ),
    (
        Role::Chart,
        "chart",
        [0xd8_eef0, 0x27_7f88, 0x1b_4147, 0x5a_b9c3],
    ),
];

/// Every text color with its class, light and dark.
const INKS: [(Ink, &str, [u32; 2]); 2] = [
    (Ink::Strong, "ink", [0x18_212c, 0xe8_edf3]),
    (Ink::Soft, "soft", [0x4d_5968, 0xb0_bbc9]),
];

/// The line between steps, light and dark.
const LINE: [u32; 2] = [0x8b_98a9, 0x66_758a];

impl Role {
    /// Every role.
    pub fn all() -> impl Iterator<Item = Self> {
        ROLES.iter().map(|(role, ..)| *role)
    }

    fn colors(self) -> &'static RoleColors {
        let mut rows = ROLES.iter();
        let row = rows.find(|(role, ..)| *role == self);
        row.unwrap_or(&ROLES[0])
    }

    /// The class in the style sheet.
    pub fn class(self) -> &'static str {
        self.colors().1
    }

    /// The fill color.
    pub fn fill(self, theme: Theme) -> Color {
        let colors = self.colors().2;
        Color(if theme == Theme::Light {
            colors[0]
        } else {
            colors[2]
        })
    }

    /// The stroke color.
    pub fn stroke(self, theme: Theme) -> Color {
        let colors = self.colors().2;
        Color(if theme == Theme::Light {
            colors[1]
        } else {
            colors[3]
        })
    }
}

impl Ink {
    /// The class in the style sheet.
    pub fn class(self) -> &'static str {
        let mut rows = INKS.iter();
        rows.find(|(ink, ..)| *ink == self).map_or("", |row| row.1)
    }

    /// The color.
    pub fn color(self, theme: Theme) -> Color {
        let mut rows = INKS.iter();
        let row = rows.find(|(ink, ..)| *ink == self).unwrap_or(&INKS[0]);
        Color(row.2[usize::from(theme == Theme::Dark)])
    }
}

/// The style sheet of both themes. Classes have the prefix `gpuc-` to avoid conflicts with the enclosing page.
pub(super) fn style() -> String {
    let rules = |theme: Theme| {
        let mut css = String::new();
        for (role, class, _) in ROLES {
            let (fill, stroke) = (role.fill(theme), role.stroke(theme));
            css.push_str(&format!(".gpuc-{class}{{fill:{fill};stroke:{stroke}}}"));
        }
        for (ink, class, _) in INKS {
            css.push_str(&format!(".gpuc-{class}{{fill:{}}}", ink.color(theme)));
        }
        let line = Color(LINE[usize::from(theme == Theme::Dark)]);
        css.push_str(&format!(".gpuc-line{{fill:none;stroke:{line}}}"));
        css
    };
    format!(
        "{}\n@media (prefers-color-scheme:dark){{{}}}",
        rules(Theme::Light),
        rules(Theme::Dark)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_matches_the_standard() {
        let (black, white) = (Color(0), Color(0xff_ffff));
        assert!((black.contrast(white) - 21.0).abs() < 0.001);
        // A grey that is known to narrowly pass on white.
        assert!((Color(0x76_7676).contrast(white) - 4.54).abs() < 0.01);
    }

    #[test]
    fn text_is_readable_on_its_background() {
        // Secondary text is on panels and next to shapes; primary text is anywhere.
        let plain = [Role::Background, Role::Panel, Role::Inset];
        for theme in [Theme::Light, Theme::Dark] {
            let strong = Role::all().map(|role| (Ink::Strong, role));
            let soft = plain.into_iter().map(|role| (Ink::Soft, role));
            for (ink, role) in strong.chain(soft) {
                let contrast = ink.color(theme).contrast(role.fill(theme));
                assert!(
                    contrast >= 4.5,
                    "{ink:?} on {role:?}, {theme:?}: {contrast:.2}"
                );
            }
        }
    }

    /// The stroke separates a shape from its background.
    #[test]
    fn shapes_contrast_with_their_background() {
        for theme in [Theme::Light, Theme::Dark] {
            let shapes = Role::all()
                .filter(|it| !matches!(it, Role::Background | Role::Panel | Role::Inset));
            for role in shapes {
                for ground in [Role::Panel, Role::Inset] {
                    let contrast = role.stroke(theme).contrast(ground.fill(theme));
                    assert!(
                        contrast >= 3.0,
                        "{role:?} on {ground:?}, {theme:?}: {contrast:.2}"
                    );
                }
            }
        }
    }
}
