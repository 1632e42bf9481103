//! Why it cannot be told whether delay rises in steps, and what would tell.

use super::LEAST_SIZES;
use delaylab_model::units::format_duration_f64;

/// Why neither steps nor a line can be said.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// Too few sizes for any model.
    #[error(
        "{sizes} sizes are too few to tell steps from a line; at least {LEAST_SIZES} are needed"
    )]
    FewSizes {
        /// Different ones.
        sizes: usize,
    },
    /// No column of steps can be told from a line.
    #[error(
        "the sizes do not reach over three steps of {width} bytes, or all lie at the same place on a step"
    )]
    Narrow {
        /// The smallest width that was looked for, bytes.
        width: u32,
    },
    /// Least squares failed.
    #[error("no line can be fitted to these delays")]
    NoLine,
    /// A jump with too few sizes below it.
    #[error(
        "delay jumps once, from {at} bytes on, as at an MTU: steps would do so again and again"
    )]
    Jump {
        /// The smallest size beyond it, bytes.
        at: u32,
    },
    /// Two risers, which need not be steps.
    #[error(
        "delay rises at two sizes: these may be steps, or two jumps that have nothing to do with each other; sizes \
         that reach over five steps would tell"
    )]
    FewRisers,
    /// A slope, and no room for steps.
    #[error(
        "delay rises with size, but the sizes do not reach over three steps of {width} bytes wherever these \
         begin"
    )]
    Reach {
        /// The smallest width that was looked for, bytes.
        width: u32,
    },
    /// A slope that steps too low to be seen would have.
    #[error(
        "steps of {width} bytes that make up the slope would be {} high, and with this noise and these sizes \
         only those above {} are found reliably",
        format_duration_f64(*step_ns),
        format_duration_f64(*visible_ns)
    )]
    Noise {
        /// The largest width that shows at any offset, bytes.
        width: u32,
        /// How high its steps would be, ns.
        step_ns: f64,
        /// How high they must be, ns.
        visible_ns: f64,
        /// Standard deviation of a size's number about the line, ns.
        residual_ns: f64,
    },
}
