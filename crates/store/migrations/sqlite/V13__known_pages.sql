-- Pages that were checked, to send other devices for.
CREATE INDEX page_verified ON page (id) WHERE verified = TRUE;
