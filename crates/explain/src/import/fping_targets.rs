//! What fping says of each of its targets, in lines or in JSON.
//!
//! A file may have the output of several calls, as of cron with `>>`, and fping prints nothing where one begins. A
//! call begins where a target's packets are numbered from 0 again, or what is printed once is printed again. Its
//! summary goes to standard error, and may stand before its lines or behind them. A copy of a reply looks as the reply does
//! (fping.c, `wait_for_reply`), so a number that stands twice is not enough.

use super::Imported;
use super::decimal::Time;
use super::figure::PrintedSummary;
use super::packets::{Frame, Packets, Reply};
use delaylab_model::method::Method;

/// What a line or an event says of its target.
pub enum Said {
    /// A reply to the packet of this number, or one more.
    Reply(u64, Reply),
    /// One more reply, and said to be that.
    Copy(u64, Reply),
    /// The only packet of a call was answered, or was not.
    Alive(Option<Reply>),
    /// No reply came in time.
    TimedOut(u64),
    /// The summary, of whatever stream.
    Summary(PrintedSummary),
    /// The round trip of each packet, at the end.
    List(Vec<Option<Time>>),
}

/// The targets of a file, and again those of each further call.
#[derive(Default)]
pub struct Targets(Vec<Target>);

#[derive(Default)]
struct Target {
    name: String,
    packets: Packets,
    summary: Option<PrintedSummary>,
    list: Option<Vec<Option<Time>>>,
    /// Did its summary stand before its packets?
    summed_up_first: bool,
    /// Has its summary come after its packets, and none of them since?
    over: bool,
}

impl Targets {
    /// Takes what is said of a target.
    pub fn take(&mut self, name: &str, said: Said) {
        let known = self.0.iter().rposition(|target| target.name == name);
        let at = known.filter(|&at| !self.0[at].ends_before(&said));
        let at = at.unwrap_or_else(|| {
            self.0.push(Target {
                name: name.to_owned(),
                ..Target::default()
            });
            self.0.len() - 1
        });
        self.0[at].take(said);
    }

    /// Adds a stream for each.
    pub fn finish(self, advice: &str, imported: &mut Imported) {
        for target in self.0 {
            target.finish(advice, imported);
        }
    }
}

impl Target {
    /// Is this of another call?
    fn ends_before(&self, said: &Said) -> bool {
        match *said {
            Said::Reply(seq, _) => {
                let begins_anew = seq == 0 && self.packets.next() > 1;
                (self.over && self.packets.knows(seq))
                    || (begins_anew && self.packets.is_answered(seq))
            }
            Said::Copy(..) => false,
            Said::Alive(_) => !self.packets.is_empty(),
            Said::TimedOut(seq) => self.packets.knows(seq),
            // -Q prints a summary again and again, and no packets; a signal prints one between packets.
            Said::Summary(_) => self.summed_up_first && !self.packets.is_empty(),
            Said::List(_) => self.list.is_some(),
        }
    }

    fn take(&mut self, said: Said) {
        self.over = false;
        match said {
            Said::Reply(seq, reply) | Said::Copy(seq, reply) => self.packets.reply(seq, reply),
            Said::Alive(Some(reply)) => self.packets.reply(0, reply),
            Said::Alive(None) => self.packets.unanswered(0),
            Said::TimedOut(seq) => self.packets.unanswered(seq),
            Said::Summary(figures) => {
                self.sum_up();
                self.summary = Some(figures);
            }
            Said::List(list) => {
                self.sum_up();
                self.list = Some(list);
            }
        }
    }

    fn sum_up(&mut self) {
        self.over = !self.packets.is_empty();
        self.summed_up_first = self.packets.is_empty();
    }

    fn finish(mut self, advice: &str, imported: &mut Imported) {
        // The lines say more than the list at the end; with -q there are no lines.
        let listed = self.list.is_some();
        if let Some(list) = self.list.take().filter(|_| self.packets.is_empty()) {
            for (seq, round_trip) in (0..).zip(list) {
                self.packets.answered_or_not(seq, round_trip.into());
            }
        }
        let silent = self.packets.is_empty();
        if self.summary.is_none() && !listed {
            imported.warn(format!(
                "fping's summary is missing{advice}: the file may not be whole"
            ));
        } else if silent {
            imported.warn(
                "the file has only fping's summary and no line for any packet (-q prints none)",
            );
        }
        let frame = Frame {
            first: (!silent).then_some(0),
            fill: !silent,
            ..Frame::of_target(self.name, Method::Icmp)
        };
        let stream = self.packets.add(frame, imported);
        imported.sum_up(stream, self.summary.unwrap_or_default());
    }
}
