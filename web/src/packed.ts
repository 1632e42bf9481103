// The data of a figure as a page has it, column by column, and the rows that it is of: see
// crates/web/src/html/packed.rs.

export type Row = Record<string, unknown>;
export type Keep = (row: Row) => boolean;

export interface Packed {
  rows: number;
  columns: Record<string, unknown[] | { words: unknown[]; at: number[] }>;
}

export function unpacked({ rows, columns }: Packed): Row[] {
  const made: Row[] = Array.from({ length: rows }, () => ({}));
  for (const [name, column] of Object.entries(columns)) {
    const values = Array.isArray(column) ? column : column.at.map((at) => column.words[at]);
    values.forEach((value, at) => {
      const row = made[at];
      if (row && value !== null) {
        row[name] = value;
      }
    });
  }
  return made;
}
