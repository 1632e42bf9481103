//! Limits as a queue counts them.

use super::Counts;
use crate::buffer::Bound;
use delaylab_model::quantity::{Limit, Share};
use delaylab_model::refusal::{Refusal, refuse};

/// Of a buffer or of a threshold in it.
pub(super) struct Limits {
    pub(super) counts: Counts,
}

impl Limits {
    /// A buffer's size: no share, because there is nothing to share.
    pub(super) fn size(&self, field: &'static str, limit: Limit) -> Result<Bound, Refusal> {
        match limit {
            Limit::Share(_) => refuse(
                field,
                "a share of what? Give it in bytes, cells or packets; the threshold may be a share of it",
            ),
            _ => self.absolute(field, limit),
        }
    }

    /// A threshold within a buffer of `size`.
    pub(super) fn within(
        &self,
        field: &'static str,
        limit: Limit,
        size: Bound,
    ) -> Result<Bound, Refusal> {
        let bound = match limit {
            Limit::Share(share) => share_of(field, share, size)?,
            _ => self.absolute(field, limit)?,
        };
        let beyond = |part: u64, whole: u64| part != u64::MAX && part > whole;
        if beyond(bound.items, size.items) || beyond(bound.bytes, size.bytes) {
            return refuse(
                field,
                "lies beyond the buffer and would never be reached: lower it, or enlarge `buffer`",
            );
        }
        Ok(bound)
    }

    fn absolute(&self, field: &'static str, limit: Limit) -> Result<Bound, Refusal> {
        match (limit, self.counts) {
            (Limit::Unlimited, _) => Ok(Bound::UNLIMITED),
            (Limit::Bytes(0) | Limit::Cells(0) | Limit::Packets(0), _) => refuse(
                field,
                "nothing would pass: give more than 0, or \"unlimited\"",
            ),
            (Limit::Bytes(bytes), _) => Ok(Bound::bytes(bytes)),
            (Limit::Cells(cells), Counts::Cells) => Ok(Bound::items(cells)),
            (Limit::Packets(packets), Counts::Packets) => Ok(Bound::items(packets)),
            (Limit::Packets(_), Counts::Cells) => {
                refuse(field, "the links carry cells: give it in cells or bytes")
            }
            _ => refuse(
                field,
                "the links carry packets: give it in packets or bytes",
            ),
        }
    }
}

/// A share of a buffer, in its unit; at least 1.
fn share_of(field: &'static str, share: Share, size: Bound) -> Result<Bound, Refusal> {
    if size == Bound::UNLIMITED {
        return refuse(
            field,
            "a share of an unlimited buffer: give it in bytes, cells or packets, or limit `buffer`",
        );
    }
    if share.0 == 0 {
        return refuse(field, "nothing would pass: give more than 0 %");
    }
    let part = |whole: u64| match whole {
        u64::MAX => u64::MAX,
        whole => scaled(whole, share).max(1),
    };
    Ok(Bound {
        items: part(size.items),
        bytes: part(size.bytes),
    })
}

fn scaled(whole: u64, share: Share) -> u64 {
    let part = u128::from(whole) * u128::from(share.0) / u128::from(Share::WHOLE.0);
    u64::try_from(part).unwrap_or(u64::MAX - 1)
}
