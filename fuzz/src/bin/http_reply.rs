#![no_main]
delaylab_fuzz::fuzz!(http_reply);
