#![no_main]
delaylab_fuzz::fuzz!(run_folder);
