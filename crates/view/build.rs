//! Packs the published schemas (`src/published/mod.rs`).

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

const FOLDER: &str = "../../docs/schema";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    for file in fs::read_dir(FOLDER)? {
        let file = file?;
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(&fs::read(file.path())?)?;
        let mut name = file.file_name();
        name.push(".gz");
        fs::write(Path::new(&out).join(name), packer.finish()?)?;
    }
    Ok(())
}
