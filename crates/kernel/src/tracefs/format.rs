//! Where an event keeps its fields: `events/*/*/format`, and `events/header_page`, which is written
//! alike (kernel documentation, "Event Tracing", section 2.2).

/// One event's description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Format {
    /// Its number in the buffers. `None` for the page's header.
    pub id: Option<u16>,
    fields: Vec<(String, Field)>,
}

/// A field's place in the event, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// From the event's first byte.
    pub offset: usize,
    /// How long.
    pub size: usize,
}

impl Format {
    /// Reads a description. Lines that say neither number nor field are left out.
    pub fn parse(text: &str) -> Self {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"));
        Self {
            id: id.and_then(|id| id.trim().parse().ok()),
            fields: text.lines().filter_map(field).collect(),
        }
    }

    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<Field> {
        let (_, field) = self.fields.iter().find(|(known, _)| known == name)?;
        Some(*field)
    }
}

/// `field:char prev_comm[16];  offset:8;  size:16;  signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let number = |part: Option<&str>, name: &str| part?.strip_prefix(name)?.parse().ok();
    let field = Field {
        offset: number(parts.next(), "offset:")?,
        size: number(parts.next(), "size:")?,
    };
    let name = declaration.split_whitespace().last()?.split('[').next()?;
    Some((name.to_owned(), field))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HANDLER: &str = "name: irq_handler_entry\nID: 225\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\
        \tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n\n\
        print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n";

    #[test]
    fn number_and_fields_are_read() {
        let format = Format::parse(HANDLER);
        assert_eq!(format.id, Some(225));
        let place = |name| format.field(name).map(|field| (field.offset, field.size));
        assert_eq!(place("irq"), Some((8, 4)));
        assert_eq!(place("name"), Some((12, 4)));
        assert_eq!(place("comm"), Some((16, 16)));
        assert_eq!(place("vec"), None);
    }

    #[test]
    fn odd_lines_are_no_fields() {
        for odd in [
            "",
            "ID: x",
            "field:",
            "field:int a;\toffset:x;\tsize:1;",
            "field:;offset:1;size:1;",
        ] {
            assert_eq!(Format::parse(odd), Format::default(), "{odd}");
        }
    }
}
