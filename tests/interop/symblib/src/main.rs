//! Asks symblib, the reference implementation of symbfiles:
//!
//!     symblib-reference dump SYMBFILE               every record, a line each
//!     symblib-reference copy SYMBFILE OUT           reads and writes every record
//!     symblib-reference ranges BINARY OUT           extracts the ranges of a binary
//!     symblib-reference pads BINARY RANGES OUT      finds return pads with the ranges of a symbfile
//!     symblib-reference fileid FILE...              the FileID of each file
//!
//! A line of a dump has fields with tabs between them. A string begins with '='; '-' is an absent value.

use fallible_iterator::FallibleIterator;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use symblib::objfile::{self, SymbolSource};
use symblib::symbconv::{self, RangeExtractor as _};
use symblib::symbfile::{Reader, Record, Writer};
use symblib::{dwarf, fileid, retpads, AnyError};

fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["dump", file] => dump(file),
        ["copy", file, out] => copy(file, out),
        ["ranges", binary, out] => ranges(binary, out),
        ["pads", binary, file, out] => pads(binary, file, out),
        ["fileid", ref files @ ..] => fileids(files),
        _ => Err("unknown command".into()),
    }
}

fn open(path: &str) -> Result<Reader<BufReader<File>>, AnyError> {
    Ok(Reader::new(BufReader::new(File::open(path)?))?)
}

fn create(path: &str) -> Result<Writer<BufWriter<File>>, AnyError> {
    Ok(Writer::new(BufWriter::new(File::create(path)?))?)
}

fn dump(file: &str) -> Result<(), AnyError> {
    let mut reader = open(file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    while let Some(record) = reader.read()? {
        match record {
            Record::Range(range) => {
                write!(out, "range\t{:#x}\t{}\t{}", range.elf_va, range.length, range.depth)?;
                write!(out, "\t={}\t{}\t{}", range.func, text(&range.file), text(&range.call_file))?;
                write!(out, "\t{}\t", number(range.call_line))?;
                for entry in &range.line_table {
                    write!(out, "{}:{} ", entry.offset, entry.line_number)?;
                }
                writeln!(out)?;
            }
            Record::ReturnPad(pad) => {
                write!(out, "pad\t{:#x}", pad.elf_va)?;
                for entry in &pad.entries {
                    write!(out, "\t={}\t{}\t{}", entry.func, text(&entry.file), number(entry.line))?;
                }
                writeln!(out)?;
            }
        }
    }
    Ok(out.flush()?)
}

fn text(value: &Option<String>) -> String {
    value.as_ref().map_or("-".to_string(), |text| format!("={text}"))
}

fn number(value: Option<u32>) -> String {
    value.map_or("-".to_string(), |number| number.to_string())
}

fn copy(file: &str, out: &str) -> Result<(), AnyError> {
    let mut reader = open(file)?;
    let mut writer = create(out)?;
    while let Some(record) = reader.read()? {
        writer.write(record)?;
    }
    Ok(writer.finalize()?.flush()?)
}

fn ranges(binary: &str, out: &str) -> Result<(), AnyError> {
    let file = objfile::File::load(Path::new(binary))?;
    let object = file.parse()?;
    let sections = dwarf::Sections::load(&object)?;
    let mut extractor = symbconv::multi::Extractor::new(&object)?;
    extractor.add("dwarf", symbconv::dwarf::Extractor::new(&sections));
    extractor.add("go", symbconv::go::Extractor::new(&object));
    extractor.add("symtab", symbconv::obj::Extractor::new(&object, SymbolSource::Debug));
    extractor.add("dynsym", symbconv::obj::Extractor::new(&object, SymbolSource::Dynamic));
    extractor.extract_to_symbfile(&mut BufWriter::new(File::create(out)?))?;
    Ok(())
}

fn pads(binary: &str, file: &str, out: &str) -> Result<(), AnyError> {
    let object = objfile::File::load(Path::new(binary))?;
    let reader = open(file)?;
    let mut writer = create(out)?;
    let ranges = reader.map(|record| Ok(record.unwrap_range())).map_err(retpads::Error::from);
    retpads::extract_retpads(&object.parse()?, ranges, |pad| Ok(writer.write(pad)?))?;
    Ok(writer.finalize()?.flush()?)
}

fn fileids(files: &[&str]) -> Result<(), AnyError> {
    for file in files {
        println!("{}", fileid::FileId::from_path(Path::new(file))?.format_es());
    }
    Ok(())
}
