#![no_main]
delaylab_fuzz::fuzz!(experiment_set);
