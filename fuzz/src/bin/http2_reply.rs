#![no_main]
delaylab_fuzz::fuzz!(http2_reply);
