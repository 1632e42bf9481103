//! The outline of a mark (SVG's `d`) in few bytes: to a tenth of a pixel, which nobody sees, and each step from where the
//! one before it ended.

/// A place, in tenths of a pixel.
type Place = [i64; 2];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Move(Place),
    Line(Place),
    Curve([Place; 3]),
    /// Its radii, its three flags as they are, and where it ends.
    Arc(Place, [i64; 3], Place),
    Close,
}

/// Where a pen goes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outline(Vec<Step>);

fn tenths(value: f64) -> i64 {
    (value * 10.0).round() as i64
}

impl Outline {
    /// A stroke from one place to another, in pixels.
    pub(super) fn of_line(from: [f64; 2], to: [f64; 2]) -> Self {
        let [from, to] = [from, to].map(|place| place.map(tenths));
        Self(vec![Step::Move(from), Step::Line(to)])
    }

    /// Reads one that Vega wrote, moved by so many pixels; `None` where it has a step that Vega does not write.
    pub(super) fn read(text: &str, by: [f64; 2]) -> Option<Self> {
        let mut steps = Vec::new();
        let [mut at, mut start] = [[0.0; 2]; 2];
        let mut rest = text.trim_start();
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let length = rest.find(|c: char| c.is_ascii_alphabetic() && c != 'e');
            let (own, behind) = rest.split_at(length.unwrap_or(rest.len()));
            rest = behind;
            let numbers = numbers(own)?;
            let place = |x: f64, y: f64| [tenths(x + by[0]), tenths(y + by[1])];
            match (letter, numbers.as_slice()) {
                ('M', &[x, y]) => {
                    [at, start] = [[x, y]; 2];
                    steps.push(Step::Move(place(x, y)));
                }
                ('L', &[x, y]) => at = [x, y],
                ('l', &[x, y]) => at = [at[0] + x, at[1] + y],
                ('h', &[x]) => at[0] += x,
                ('v', &[y]) => at[1] += y,
                ('C', &[a, b, c, d, x, y]) => {
                    at = [x, y];
                    steps.push(Step::Curve([place(a, b), place(c, d), place(x, y)]));
                }
                ('A', &[a, b, turn, large, sweep, x, y]) => {
                    at = [x, y];
                    let flags = [turn, large, sweep].map(|flag| flag as i64);
                    steps.push(Step::Arc([a, b].map(tenths), flags, place(x, y)));
                }
                ('Z' | 'z', []) => {
                    at = start;
                    steps.push(Step::Close);
                }
                _ => return None,
            }
            if matches!(letter, 'L' | 'l' | 'h' | 'v') {
                steps.push(Step::Line(place(at[0], at[1])));
            }
        }
        Some(Self(steps))
    }

    /// This one, and then another.
    pub(super) fn join(&mut self, other: &Outline) {
        self.0.extend_from_slice(&other.0);
    }

    pub(super) fn text(&self) -> String {
        let mut pen = Pen::default();
        for step in &self.0 {
            pen.draw(*step);
        }
        pen.text
    }
}

/// Numbers between commas, blanks or signs.
fn numbers(text: &str) -> Option<Vec<f64>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        let mut before = '-';
        let end = rest.find(|c: char| {
            let is_sign = c == '-' && before != 'e' && before != '-';
            before = c;
            c == ',' || c == ' ' || is_sign
        });
        let (number, behind) = rest.split_at(end.unwrap_or(rest.len()));
        if number.is_empty() {
            return Some(found);
        }
        found.push(
            number
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())?,
        );
        rest = behind;
    }
}

#[derive(Default)]
struct Pen {
    text: String,
    /// Where it is, and where what it draws began.
    at: Place,
    start: Place,
    /// The step before.
    letter: char,
}

impl Pen {
    fn draw(&mut self, step: Step) {
        let at = self.at;
        let from_here = |to: Place| [to[0] - at[0], to[1] - at[1]];
        match step {
            Step::Move(to) => {
                self.start = to;
                self.step('m', &from_here(to), to);
            }
            Step::Line(to) => match from_here(to) {
                // A stroke of no length is a dot.
                [0, 0] if self.letter != 'm' => {}
                [x, 0] => self.step('h', &[x], to),
                [0, y] => self.step('v', &[y], to),
                by => self.step('l', &by, to),
            },
            Step::Curve(places) => {
                let by = places.map(from_here);
                self.step('c', by.as_flattened(), places[2]);
            }
            Step::Arc(radii, flags, to) => {
                let [a, b] = radii;
                let [turn, large, sweep] = flags.map(|flag| 10 * flag);
                let [x, y] = from_here(to);
                self.step('a', &[a, b, turn, large, sweep, x, y], to);
            }
            Step::Close => self.step('z', &[], self.start),
        }
    }

    /// The letter stands once before steps of one kind; lines behind a move would not be told from it.
    fn step(&mut self, letter: char, numbers: &[i64], to: Place) {
        let mut is_apart = self.letter != letter || letter == 'm';
        if is_apart {
            self.text.push(letter);
        }
        for number in numbers {
            if !is_apart && *number >= 0 {
                self.text.push(',');
            }
            self.text += &pixels(*number);
            is_apart = false;
        }
        self.letter = letter;
        self.at = to;
    }
}

/// `-5` as `-.5`, `120` as `12`.
pub(super) fn pixels(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    let [whole, part] = [tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10];
    match (whole, part) {
        (_, 0) => format!("{sign}{whole}"),
        (0, _) => format!("{sign}.{part}"),
        _ => format!("{sign}{whole}.{part}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn short(text: &str) -> String {
        Outline::read(text, [0.0, 0.0]).unwrap().text()
    }

    #[test]
    fn an_outline_goes_from_place_to_place() {
        for (long, expected) in [
            ("M0,105.77h-18.04V2", None),
            (
                "M150.5,94.93h18.8v15.06h-18.8Z",
                Some("m150.5,94.9h18.8v15.1h-18.8z"),
            ),
            (
                "M0,85L15.8,85L15.8,85L31.52,85.91L47,84",
                Some("m0,85h15.8l15.7,.9,15.5-1.9"),
            ),
            (
                "M2,0A2,2,0,1,1,-2,0A2,2,0,1,1,2,0",
                Some("m2,0a2,2,0,1,1-4,0,2,2,0,1,1,4,0"),
            ),
            ("M1e-7,5C1,2,3,4,5,6", Some("m0,5c1-3,3-1,5,1")),
            ("M1,1v0", Some("m1,1h0")),
            ("", Some("")),
            ("M1,NaN", None),
        ] {
            let read = Outline::read(long, [0.0, 0.0]);
            assert_eq!(read.map(|read| read.text()).as_deref(), expected, "{long}");
        }
    }

    /// Rounding does not add up.
    #[test]
    fn the_end_of_many_steps_is_where_it_was() {
        let many = "l0.04,0.04".repeat(1_000);
        assert!(short(&format!("M0,0{many}L77,0")).len() < 7_000);
        let read = Outline::read(&format!("M0,0{many}"), [0.0, 0.0]).unwrap();
        assert_eq!(read.0.last(), Some(&Step::Line([400, 400])));
    }

    #[test]
    fn outlines_are_moved_and_joined() {
        let mut both = Outline::read("M1,1h2", [10.0, 20.0]).unwrap();
        both.join(&Outline::of_line([11.0, 25.0], [11.0, 21.0]));
        assert_eq!(both.text(), "m11,21h2m-2,4v-4");
    }
}
