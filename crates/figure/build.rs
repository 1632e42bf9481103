//! Packs the script that draws figures, which is less than half as long then.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

const SCRIPT: &str = "../../web/dist/figures.js";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SCRIPT}");
    println!("cargo::rerun-if-changed=build.rs");
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&fs::read(SCRIPT)?)?;
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&folder).join("figures.js.gz"), packer.finish()?)
}
