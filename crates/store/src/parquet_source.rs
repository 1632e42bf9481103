//! Reading one Parquet file, a row group at a time.

use crate::content::Content;
use crate::error::{StoreError, guarded};
use crate::regular;
use crate::stamps;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows of a batch: so few that they stay in the CPU's cache.
const BATCH: usize = 2048;
/// Rows of a batch that is handed on as a whole: each costs whoever takes it something.
const LARGE_BATCH: usize = 65_536;

/// An open file, of which the footer is read.
#[derive(Debug)]
pub(crate) struct ParquetSource {
    content: Content,
    metadata: ArrowReaderMetadata,
}

impl ParquetSource {
    /// Columns that `known` has as dictionaries are read as such.
    pub(crate) fn open(path: &Path, known: &SchemaRef) -> Result<Self, ParquetError> {
        let read = || Self::read_footer(Content::read(regular::open(path)?)?, known);
        guarded(read, ParquetError::General)
    }

    fn read_footer(content: Content, known: &SchemaRef) -> Result<Self, ParquetError> {
        // With all that stands of a row group: of a long part it is taken over.
        let options = ArrowReaderOptions::new()
            .with_skip_arrow_metadata(true)
            .with_encoding_stats_as_mask(false);
        let found = ArrowReaderMetadata::load(&content, options.clone())?;
        let options = options.with_schema(with_dictionaries(found.schema(), known));
        let metadata = ArrowReaderMetadata::try_new(found.metadata().clone(), options)?;
        Ok(Self { content, metadata })
    }

    /// Hands over all of its rows, with their stamps as times.
    pub(crate) fn each_batch(
        &self,
        path: &Path,
        mut take: impl FnMut(RecordBatch) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for group in self.row_groups(None) {
            let batches = self.batches(group, None);
            for batch in batches.map_err(StoreError::parquet(path))? {
                take(batch.map_err(StoreError::parquet(path))?)?;
            }
        }
        Ok(())
    }

    /// Does it have these columns?
    pub(crate) fn has_columns(&self, schema: &SchemaDescriptor) -> bool {
        let own = self.metadata.metadata().file_metadata().schema_descr();
        own.root_schema() == schema.root_schema()
    }

    /// Its bytes, and its row groups in them.
    pub(crate) fn encoded(&self) -> (&Content, &[RowGroupMetaData]) {
        (&self.content, self.metadata.metadata().row_groups())
    }

    /// How many rows a row group has.
    pub(crate) fn rows_of(&self, group: usize) -> u64 {
        let rows = self.metadata.metadata().row_group(group).num_rows();
        u64::try_from(rows).unwrap_or(0)
    }

    /// Every row group that may have rows of this trial; all of them for `None`.
    pub(crate) fn row_groups(&self, trial: Option<u32>) -> Vec<usize> {
        let all = 0..self.metadata.metadata().num_row_groups();
        all.filter(|group| trial.is_none_or(|trial| self.may_have(*group, trial)))
            .collect()
    }

    fn may_have(&self, group: usize, trial: u32) -> bool {
        let columns = self.metadata.metadata().row_group(group).columns();
        let column = columns
            .iter()
            .find(|column| column.column_path().string() == "trial");
        match column.and_then(|column| column.statistics()) {
            Some(Statistics::Int32(range)) => {
                let above = range.min_opt().is_none_or(|&min| trial >= min as u32);
                above && range.max_opt().is_none_or(|&max| trial <= max as u32)
            }
            _ => true,
        }
    }

    /// The rows of a row group, in batches, with their stamps as times. `None` is every column.
    pub(crate) fn batches(
        &self,
        group: usize,
        columns: Option<&[String]>,
    ) -> Result<Batches, ParquetError> {
        self.batches_in(group, columns, 0..self.rows_of(group))
    }

    /// The same of these rows, counted from the row group's first.
    pub(crate) fn batches_in(
        &self,
        group: usize,
        columns: Option<&[String]>,
        rows: Range<u64>,
    ) -> Result<Batches, ParquetError> {
        self.batches_of(BATCH, group, columns, self.mask(columns), rows)
    }

    /// The rows of a row group, in few batches, without the columns that have no value: of words the library makes a dictionary
    /// of their nulls, which takes a third of the time that all columns take, and of numbers as many zeros.
    pub(crate) fn large_batches(
        &self,
        group: usize,
        columns: Option<&[String]>,
    ) -> Result<Batches, ParquetError> {
        let (schema, mask) = (self.metadata.parquet_schema(), self.mask(columns));
        let leaves = 0..schema.num_columns();
        let there = leaves.filter(|&leaf| mask.leaf_included(leaf) && !self.is_empty(group, leaf));
        let mask = ProjectionMask::leaves(schema, there);
        self.batches_of(LARGE_BATCH, group, columns, mask, 0..self.rows_of(group))
    }

    /// Is all of this column null? Stamps are read all the same: each is counted from the one before it.
    fn is_empty(&self, group: usize, leaf: usize) -> bool {
        let column = self.metadata.metadata().row_group(group).column(leaf);
        let nulls = column.statistics().and_then(Statistics::null_count_opt);
        nulls == Some(self.rows_of(group)) && !stamps::is_difference(&column.column_path().string())
    }

    fn batches_of(
        &self,
        size: usize,
        group: usize,
        columns: Option<&[String]>,
        mask: ProjectionMask,
        rows: Range<u64>,
    ) -> Result<Batches, ParquetError> {
        let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let content = self.content.clone();
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(content, self.metadata.clone())
                .with_row_groups(vec![group])
                .with_batch_size(size)
                .with_offset(count(rows.start))
                .with_limit(count(rows.end.saturating_sub(rows.start)))
                .with_projection(mask);
        Ok(Batches {
            reader: guarded(|| builder.build(), ParquetError::General)?,
            columns: columns.map(<[String]>::to_vec),
        })
    }

    fn mask(&self, columns: Option<&[String]>) -> ProjectionMask {
        match columns {
            None => ProjectionMask::all(),
            Some(names) => {
                let names = stamps::file_columns(names);
                let names = names.iter().map(String::as_str);
                ProjectionMask::columns(self.metadata.parquet_schema(), names)
            }
        }
    }
}

/// The batches of a row group.
pub(crate) struct Batches {
    reader: ParquetRecordBatchReader,
    columns: Option<Vec<String>>,
}

impl Batches {
    /// The rows of a batch, with the columns that were asked for.
    fn rows(&self, batch: RecordBatch) -> Result<RecordBatch, ParquetError> {
        let rows = stamps::from_file(batch)?;
        Ok(only(&rows, self.columns.as_deref())?)
    }
}

/// These columns of a batch, as far as it has them; all for `None`.
pub(crate) fn only(
    batch: &RecordBatch,
    columns: Option<&[String]>,
) -> Result<RecordBatch, ArrowError> {
    let Some(columns) = columns else {
        return Ok(batch.clone());
    };
    let fields = batch.schema_ref().fields().iter().enumerate();
    let wanted = fields.filter(|(_, field)| columns.contains(field.name()));
    batch.project(&wanted.map(|(at, _)| at).collect::<Vec<_>>())
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = guarded(|| Ok(self.reader.next()), ParquetError::General);
        match batch {
            Ok(batch) => batch.map(|batch| self.rows(batch?)),
            Err(error) => Some(Err(error)),
        }
    }
}

/// The file's schema, with the dictionaries of the one that is known.
fn with_dictionaries(found: &SchemaRef, known: &SchemaRef) -> SchemaRef {
    let fields = found.fields().iter().map(|field| {
        let known = known.column_with_name(field.name());
        match known.map(|(_, known)| known.data_type()) {
            Some(words @ DataType::Dictionary(..)) if *field.data_type() == DataType::Utf8 => {
                Arc::new(field.as_ref().clone().with_data_type(words.clone()))
            }
            _ => field.clone(),
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
