SELECT secret FROM control_key
