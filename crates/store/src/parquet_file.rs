//! One Parquet file: how it is encoded, written and put in place.

use crate::digest::{FileFacts, Hashing};
use crate::disk::{DiskFile, SharedDisk};
use crate::durable;
use crate::error::{StoreError, arrow};
use crate::parquet_source::ParquetSource;
use crate::row_groups::{MOST_THREADS, RowGroups};
use crate::stamps;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::path::{Path, PathBuf};

/// Rows of a row group at most: its pages are held in memory while it is written.
const ROW_GROUP: usize = 1 << 20;
/// Rows from which on a row group ends with its trial, so that one trial is read without the others, and so that a part which
/// is encoded as the table is becomes row groups of it as it is.
pub(crate) const TRIAL_ROW_GROUP: usize = (1 << 13) + 1;

/// Bytes of a column's dictionary in a row group at most.
const DICTIONARY: usize = 1 << 19;
/// The level of zstd. With level 6 the end of a run takes 17 % longer, and `series.parquet` is 5 % smaller.
const LEVEL: i32 = 3;

/// Writes a Parquet file that is there whole or not at all.
///
/// Nothing in it depends on when or where it was written: the same rows are the same bytes, but for what the footer says of
/// the pages of a part that was taken over.
pub(crate) struct ParquetFile {
    disk: SharedDisk,
    path: PathBuf,
    /// `None` once it is put in place.
    writer: Option<RowGroups<Hashing<Box<dyn DiskFile>>>>,
}

impl ParquetFile {
    /// For rows of this schema. In the file their stamps are differences: see [`stamps`].
    pub(crate) fn create(
        disk: &SharedDisk,
        path: &Path,
        rows: &SchemaRef,
    ) -> Result<Self, StoreError> {
        Self::create_with(disk, path, rows, MOST_THREADS)
    }

    /// The same, encoded on so many threads at most.
    pub(crate) fn create_with(
        disk: &SharedDisk,
        path: &Path,
        rows: &SchemaRef,
        threads: usize,
    ) -> Result<Self, StoreError> {
        let schema = stamps::file_schema(rows);
        let temporary = durable::unfinished(path);
        let file = disk.create(&temporary).map_err(StoreError::at(path))?;
        let writer = RowGroups::create(Hashing::new(file), &schema, properties(&schema), threads);
        Ok(Self {
            disk: disk.clone(),
            path: path.to_owned(),
            writer: Some(writer.map_err(StoreError::parquet(path))?),
        })
    }

    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<(), StoreError> {
        let batch = stamps::to_file(rows).map_err(arrow(&self.path))?;
        match &mut self.writer {
            Some(writer) => (writer.write(&batch)).map_err(StoreError::parquet(&self.path)),
            None => Ok(()),
        }
    }

    /// Adds a part with as many rows as [`Self::end_trial`] waits for and the same columns, without encoding its rows again,
    /// where that is the same: where no other rows are in the row group that is being written. False: it is not.
    pub(crate) fn append(&mut self, part: &ParquetSource, path: &Path) -> Result<bool, StoreError> {
        let Some(writer) = &mut self.writer else {
            return Ok(false);
        };
        let (content, groups) = part.encoded();
        // Of an older version, some are shorter, and not encoded at all.
        let is_long = |group: &RowGroupMetaData| group.num_rows() >= TRIAL_ROW_GROUP as i64;
        if writer.in_progress() > 0
            || !groups.first().is_some_and(is_long)
            || !part.has_columns(writer.schema())
        {
            return Ok(false);
        }
        let mut groups = groups.iter();
        let appended = groups.try_for_each(|group| writer.append(content, group));
        appended.map_err(StoreError::parquet(path))?;
        Ok(true)
    }

    /// Writes these rows, which are all, and puts the file in place.
    pub(crate) fn write_all(mut self, rows: &RecordBatch) -> Result<FileFacts, StoreError> {
        self.write(rows)?;
        self.finish()
    }

    /// The rows of a trial are complete.
    pub(crate) fn end_trial(&mut self) -> Result<(), StoreError> {
        match &mut self.writer {
            Some(writer) if writer.in_progress() >= TRIAL_ROW_GROUP => {
                writer.end_group().map_err(StoreError::parquet(&self.path))
            }
            _ => Ok(()),
        }
    }

    /// Writes the footer, syncs, and gives the file its name.
    pub(crate) fn finish(mut self) -> Result<FileFacts, StoreError> {
        let Some(writer) = &mut self.writer else {
            return Ok(FileFacts::of_bytes(&[]));
        };
        let written = writer.finish().map_err(StoreError::parquet(&self.path))?;
        let file = writer.inner_mut();
        (file.inner_mut().sync()).map_err(StoreError::at(&self.path))?;
        let rows = u64::try_from(written.file_metadata().num_rows()).unwrap_or(0);
        let facts = file.facts().with_rows(rows);
        self.writer = None; // it is whole: it stays
        durable::put_in_place(&*self.disk, &self.path)?;
        Ok(facts)
    }
}

impl Drop for ParquetFile {
    /// What was not finished gives its room back.
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            let _ = self.disk.remove_file(&durable::unfinished(&self.path));
        }
    }
}

/// Delta encoding for the integers that grow or hardly change, dictionaries for the rest.
///
/// What a stage took does neither: most times are of about one length, and now and then one is a thousand
/// times longer. Delta encoding makes room for the longest of 32, a dictionary only for how many there
/// are; where there are too many, delta encoding goes on. BYTE_STREAM_SPLIT would take a byte a record
/// less, but of integers few tools can read it (DuckDB from 2.0 on).
fn properties(schema: &SchemaRef) -> WriterProperties {
    let level = ZstdLevel::try_new(LEVEL).unwrap_or_default();
    let mut properties = WriterProperties::builder()
        .set_created_by("delaylab".to_owned())
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_offset_index_disabled(true)
        .set_compression(Compression::ZSTD(level))
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(ROW_GROUP));
    for field in schema.fields() {
        if is_wide(field.data_type()) {
            let column = ColumnPath::from(field.name().as_str());
            let many_alike = stamps::is_difference(field.name());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), many_alike)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

fn is_wide(data_type: &DataType) -> bool {
    use DataType::{Int32, Int64, Timestamp, UInt32, UInt64};
    matches!(data_type, Int32 | Int64 | UInt32 | UInt64 | Timestamp(..))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::disk::RealDisk;
    use crate::table;
    use delaylab_model::method::Method;
    use delaylab_model::record::Record;
    use std::fs;

    fn rows(trial: u32, count: u64) -> RecordBatch {
        let record = |seq| {
            Record::due(
                trial,
                0,
                seq,
                Method::Udp,
                1_000 * (seq as i64 + i64::from(trial)),
            )
        };
        let rows: Vec<Record> = (0..count).map(record).collect();
        table::batch(&table::schema::<Record>(), &rows).unwrap()
    }

    /// A long part that is taken over is what its rows would be if they were encoded once more.
    #[test]
    fn a_part_as_it_is_gives_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, schema) = (RealDisk::shared(), table::schema::<Record>());
        let [part, taken_over, encoded] =
            ["part", "taken", "encoded"].map(|name| folder.path().join(name));
        let open = |path: &Path| ParquetFile::create(&disk, path, &schema).unwrap();
        let [mut one, mut other] = [open(&taken_over), open(&encoded)];
        let mut were_taken = Vec::new();
        for (trial, count) in (0..).zip([9_000, 12, 20_000, 8_193, 3]) {
            let rows = rows(trial, count);
            open(&part).write_all(&rows).unwrap();
            let source = ParquetSource::open(&part, &schema).unwrap();
            let is_taken = one.append(&source, &part).unwrap();
            if !is_taken {
                one.write(&rows).unwrap();
            }
            were_taken.push(is_taken);
            other.write(&rows).unwrap();
            one.end_trial().unwrap();
            other.end_trial().unwrap();
        }
        assert_eq!(were_taken, [true, false, false, true, false]);
        one.finish().unwrap();
        other.finish().unwrap();
        // All but the footer, which may say more of rows that were encoded here.
        let pages = |path: &Path| {
            let source = ParquetSource::open(path, &schema).unwrap();
            let groups = source.encoded().1;
            let columns = groups.iter().flat_map(|group| group.columns());
            let ends = columns.map(|column| column.byte_range());
            let end = ends.map(|(from, length)| from + length).max().unwrap();
            (
                groups.len(),
                fs::read(path).unwrap()[..end as usize].to_vec(),
            )
        };
        assert_eq!(pages(&taken_over).0, 4);
        assert!(pages(&taken_over) == pages(&encoded));
    }
}
