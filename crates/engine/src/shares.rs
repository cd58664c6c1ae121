//! Shares of children of several VPs.
//!
//! A share is for the child as a whole, so below proportional share each VP of a child with several VPs gets a part.
//! Shares are scaled so that all parts are whole numbers, as far as the policy's range allows. Relies on nothing.

/// The factor of the shares of one scheduler's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareScale {
    /// A multiple of the width of every child.
    common: u64,
    /// If the greatest part exceeds the range, all parts are scaled by `most / greatest`.
    most: u64,
    greatest: u64,
}

impl ShareScale {
    /// The scale for children with these shares and widths, below a policy with shares of at most `most`. It also
    /// suits later children with one VP, or with `held` VPs, the number that the scheduler itself holds.
    pub fn new(children: impl Iterator<Item = (u64, u16)> + Clone, held: u16, most: u64) -> ShareScale {
        let widths = children.clone().map(|(_, width)| u64::from(width.max(1)));
        let common = widths.fold(u64::from(held.max(1)), common_multiple);
        let plain = ShareScale { common, most: 1, greatest: 1 };
        let greatest = children.map(|(share, width)| plain.of_a_vp(share, width)).max().unwrap_or(1);
        if greatest > most { ShareScale { common, most, greatest } } else { plain }
    }

    /// Whether the share of a child with `width` VPs divides into whole parts.
    pub fn suits(&self, width: u16) -> bool {
        self.common.is_multiple_of(width.max(1).into())
    }

    /// The share of each VP of a child that has `width` VPs and this share as a whole.
    pub fn of_a_vp(&self, share: u64, width: u16) -> u64 {
        let part = share.saturating_mul(self.common) / u64::from(width.max(1));
        (part.saturating_mul(self.most) / self.greatest).max(1)
    }
}

/// The least common multiple, or a number beyond all ranges of shares.
fn common_multiple(a: u64, b: u64) -> u64 {
    const MOST: u64 = 1 << 24;
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x * b).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_and_in_proportion() {
        let scale = ShareScale::new([(1, 1), (1, 3)].into_iter(), 2, 65_536);
        assert_eq!([1, 2, 3].map(|width| scale.of_a_vp(1, width)), [6, 3, 2]);
        assert_eq!([1, 2, 3, 4].map(|width| scale.suits(width)), [true, true, true, false]);
        assert_eq!(ShareScale::new([].into_iter(), 1, 65_536).of_a_vp(7, 1), 7);
    }

    #[test]
    fn parts_stay_within_the_range() {
        let scale = ShareScale::new([(65_536, 1), (65_536, 4), (1, 4)].into_iter(), 4, 65_536);
        assert_eq!(scale.of_a_vp(65_536, 1), 65_536);
        assert_eq!(scale.of_a_vp(65_536, 4), 16_384);
        assert_eq!(scale.of_a_vp(1, 4), 1);
    }
}
