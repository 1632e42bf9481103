//! What was found, in sentences.

use super::{Answer, Direction, Way};
use delaylab_model::units::{format_duration_f64, format_rate};
use delaylab_stats::steps::{
    CELL_BITS, CELL_PAYLOAD, Detection, ENOUGH_OF_100, Framing, Steps, Verdict, rate_of_equal_links,
};

/// Lower steps are not named, ns: a cell takes 20 ns at 21 Gbit/s, and no line in cells is as fast.
const LEAST_STEP_NS: f64 = 20.0;

/// What a byte costs, with three digits: `0.800 ns`, `9.99 µs`.
fn per_byte(ns: f64) -> String {
    match ns.abs() {
        small if small < 0.9995 => format!("{ns:.3} ns"),
        small if small < 9.995 => format!("{ns:.2} ns"),
        small if small < 99.95 => format!("{ns:.1} ns"),
        _ => format_duration_f64(ns),
    }
}

impl Way {
    /// In a word.
    pub fn answer(&self) -> Answer {
        match &self.detection.verdict {
            Verdict::Steps(_) => Answer::Steps,
            _ if self.power.is_some_and(|power| power.is_enough()) => Answer::NoCells,
            _ => Answer::Undecided,
        }
    }

    /// In a sentence or two.
    pub fn sentence(&self) -> String {
        let said = match (&self.detection.verdict, self.answer()) {
            (Verdict::Steps(found), _) => steps(found, self.direction),
            (_, Answer::NoCells) => self.no_cells(),
            _ => self.undecided(),
        };
        said + &beyond(&self.detection)
    }

    fn no_cells(&self) -> String {
        let shape = match &self.detection.verdict {
            Verdict::Line(line) => {
                format!("delay rises in a line of {} a byte", per_byte(line.slope))
            }
            Verdict::Constant(_) => "delay does not rise with size".to_owned(),
            Verdict::Steps(_) | Verdict::CannotTell(_) => "delay rises with size".to_owned(),
        };
        let excluded = self.power.and_then(|power| power.excluded_ns);
        let seen = excluded.map_or(String::new(), |ns| self.seen(ns));
        format!("No cells: {shape}{seen}.")
    }

    /// Which steps would have been seen.
    fn seen(&self, excluded: f64) -> String {
        let below = self.detection.jump;
        let below = below.map_or(String::new(), |jump| format!(" below {} B", jump.at));
        if excluded < LEAST_STEP_NS {
            return format!("; any step{below} would have been seen");
        }
        format!(
            "; a step of more than {}{below}, cells of a line slower than {}, would have been seen in \
             {ENOUGH_OF_100} of 100",
            format_duration_f64(excluded),
            self.rate_of(excluded)
        )
    }

    /// Of a line, the same each way, whose cells make steps this high.
    fn rate_of(&self, step_ns: f64) -> String {
        let directions = self.direction.count();
        format_rate(rate_of_equal_links(
            step_ns.max(1e-3),
            CELL_BITS,
            directions,
        ))
    }

    fn undecided(&self) -> String {
        let Some(power) = self.power else {
            return match &self.detection.verdict {
                Verdict::CannotTell(doubt) => format!("Undecided: {doubt}."),
                _ => "Undecided.".to_owned(),
            };
        };
        let noise = self.detection.residual_ns().unwrap_or(0.0);
        let more = match power.times_as_many() {
            Some(times) => format!("about {} times as many packets would tell", times.max(2)),
            None => "more sizes would tell, every one over five cells or more".to_owned(),
        };
        format!(
            "Undecided: the delay of a size errs by {}, {:.1} times the step of {} that cells of a line of {} \
             would make; {more}.",
            format_duration_f64(noise),
            noise / power.wanted_ns,
            format_duration_f64(power.wanted_ns),
            self.rate_of(power.wanted_ns),
        )
    }
}

fn steps(found: &Steps, direction: Direction) -> String {
    let added = added(found);
    let height = interval(found.step_ns, found.step_interval);
    let way = match direction {
        Direction::Both => " there and back",
        Direction::Forward | Direction::Return => "",
    };
    if found.width != CELL_PAYLOAD {
        let (low, high) = found.width_interval;
        return format!(
            "Steps of {} bytes (95 %: {low} to {high}), not cells: each takes {height}{way}; {added}.{}",
            found.width,
            unlike(found)
        );
    }
    let rate = line_rate(found, direction).map_or(String::new(), |rate| format!(", {rate}"));
    let unlike = unlike(found);
    format!("Cells of 48 bytes: {added}; a cell takes {height}{way}{rate}.{unlike}")
}

/// How steps differ, and a jump among them.
fn unlike(found: &Steps) -> String {
    let uneven = found.uneven.map(|uneven| {
        let [least, most, sd] = [uneven.least_ns, uneven.most_ns, uneven.sd_ns].map(format_duration_f64);
        format!(
            " The steps differ: {least} to {most}, with a standard deviation of {sd}; the interval allows for that."
        )
    });
    let jump = found.jump.map(|jump| {
        format!(
            " Delay jumps once by {} at {} B, and the same steps go on from there.",
            format_duration_f64(jump.height_ns),
            jump.at
        )
    });
    uneven.into_iter().chain(jump).collect()
}

/// `10 bytes are added to each packet`, or between which they are at 95 %.
fn added(found: &Steps) -> String {
    let (low, high) = found.overhead_interval;
    let own = found.overhead;
    match high - low {
        0 => format!("{own} bytes are added to each packet"),
        1..=4 => format!("{own} bytes are added to each packet (95 %: {low} to {high})"),
        _ => format!("{low} to {high} bytes are added to each packet (95 %)"),
    }
}

/// Without the interval where it has no width that shows.
fn interval(value: f64, (low, high): (f64, f64)) -> String {
    let [value, low, high] = [value, low, high].map(format_duration_f64);
    if value == low && value == high {
        return value;
    }
    format!("{value} (95 %: {low} to {high})")
}

fn beyond(detection: &Detection) -> String {
    detection.jump.map_or(String::new(), |jump| {
        let why = match &detection.verdict {
            Verdict::Steps(_) => "these steps do not go on beyond it",
            _ => "no steps explain it",
        };
        format!(
            " Sizes from {} B on are left out: delay jumps by {} there, as where fragments or larger buffers begin, \
             and {why}.",
            jump.at,
            format_duration_f64(jump.height_ns)
        )
    })
}

/// What the height of a cell's step says of the line: its rate one way, or of both ways if they are alike,
/// since a step there and back is 424·(1/down + 1/up). `None` where the steps are no cells.
pub fn line_rate(found: &Steps, direction: Direction) -> Option<String> {
    if found.width != CELL_PAYLOAD || found.step_ns <= 0.0 {
        return None;
    }
    let alike = format_rate(rate_of_equal_links(
        found.step_ns,
        CELL_BITS,
        direction.count(),
    ));
    Some(match direction {
        Direction::Both => format!("{alike} each way if both are alike"),
        Direction::Forward => format!("{alike} to the target"),
        Direction::Return => format!("{alike} from the target"),
    })
}

/// The known encapsulations that the overhead allows for: `PPPoA, VC-mux (10)`.
pub fn candidates(found: &Steps) -> Vec<String> {
    let one = |framing: Framing| format!("{} ({})", framing.name, framing.overhead);
    found.framings().into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::per_byte;

    #[test]
    fn what_a_byte_costs_has_three_digits() {
        let all = [0.8, 8.0, 80.0, 800.0, 9989.674].map(per_byte);
        assert_eq!(all, ["0.800 ns", "8.00 ns", "80.0 ns", "800 ns", "9.99 µs"]);
    }
}
