//! What a trial brings besides its records: rows of tables. A new table is a file here with the type of its rows and their
//! order ([`TableRow`](crate::table::TableRow)), and its line in the list of [`with_tables!`](crate::with_tables).

pub mod hop;
pub mod series;
pub mod transfer;

use std::slice::from_ref;

/// Calls a macro with every table besides the records, after what stands in the braces: a line for each, with the name of
/// its [`Rows`], its own (that of its file, and of its field where tables are fields), the type of its rows, and those of its
/// fields that are columns, in the order of the files. Everything that is said of every table is made of this list.
#[macro_export]
macro_rules! with_tables {
    (($($then:tt)*) { $($more:tt)* }) => {
        $($then)*! { { $($more)* }
            /// What disturbed the host. In any order, some after the last record.
            Noise noise: $crate::noise::NoiseEvent { trial start length cpu kind who pid preempted },
            /// What clock reads cost; after the last record.
            ClockReads clock_reads: $crate::noise::ClockReads { trial from_ns to_ns count },
            /// What packets met in queues. In any order.
            Hops hops: $crate::rows::hop::Hop { trial probe seq direction hop port t_enqueue t_dequeue backlog },
            /// What series were for a while. The points of one series in their order.
            Series series: $crate::rows::series::SeriesPoint { trial series of unit t length min mean max },
            /// For how long series had which values. Those of one series in order of their values, after its points.
            SeriesValues series_values: $crate::rows::series::SeriesValue { trial series of unit value length },
            /// Finite transfers of loads. Those of one stream in their order.
            Transfers transfers: $crate::rows::transfer::Transfer { trial of number bytes start end },
        }
    };
}

macro_rules! rows_and_buffer {
    ({} $($(#[$doc:meta])* $table:ident $field:ident: $row:ty { $($column:ident)* },)+) => {
        /// Rows of one table.
        #[derive(Debug, Clone, Copy)]
        pub enum Rows<'a> {
            $($(#[$doc])* $table(&'a [$row]),)+
        }

        /// Rows of all tables, kept back to be handed on together.
        #[derive(Debug, Clone, Default)]
        pub struct RowBuffer {
            $($field: Vec<$row>,)+
        }

        impl RowBuffer {
            /// Takes these, too.
            pub fn push(&mut self, rows: Rows<'_>) {
                match rows {
                    $(Rows::$table(rows) => self.$field.extend_from_slice(rows),)+
                }
            }

            /// How many there are.
            pub fn len(&self) -> usize {
                0 $(+ self.$field.len())+
            }

            /// Are there none?
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Hands on the rows of each table that has some.
            ///
            /// # Errors
            /// The first that `take` has.
            pub fn hand_on<E>(&self, mut take: impl FnMut(Rows<'_>) -> Result<(), E>) -> Result<(), E> {
                $(if !self.$field.is_empty() {
                    take(Rows::$table(&self.$field))?;
                })+
                Ok(())
            }
        }

        $(impl<'a> From<&'a $row> for Rows<'a> {
            fn from(row: &'a $row) -> Self {
                Rows::$table(from_ref(row))
            }
        })+
    };
}

with_tables!((rows_and_buffer) {});
