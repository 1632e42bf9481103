#![no_main]
delaylab_fuzz::fuzz!(stamp_tlv);
