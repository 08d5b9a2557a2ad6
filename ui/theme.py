"""Gradio's theme, tied to the variables of `assets/style/tokens.css`, so that both kinds of page look alike."""

import gradio as gr

BOTH = {
    "body_background_fill": "var(--bg)", "body_text_color": "var(--ink)", "body_text_color_subdued": "var(--ink-3)",
    "background_fill_primary": "var(--surface)", "background_fill_secondary": "var(--surface-2)",
    "border_color_primary": "var(--line)", "border_color_accent": "var(--accent)",
    "border_color_accent_subdued": "var(--line)", "color_accent_soft": "var(--accent-2)",
    "block_background_fill": "var(--surface)", "block_border_color": "var(--line)",
    "block_label_background_fill": "var(--surface)", "block_label_text_color": "var(--ink-2)",
    "block_info_text_color": "var(--ink-3)", "block_title_text_color": "var(--ink)",
    "block_title_background_fill": "transparent", "block_label_border_color": "var(--line)",
    "panel_background_fill": "var(--surface)", "panel_border_color": "var(--line)",
    "input_background_fill": "var(--surface)", "input_background_fill_focus": "var(--surface)",
    "input_background_fill_hover": "var(--surface)", "input_border_color": "var(--ink-3)",
    "input_border_color_focus": "var(--accent)", "input_border_color_hover": "var(--accent)",
    "input_placeholder_color": "var(--ink-3)",
    "button_primary_background_fill": "var(--accent)", "button_primary_background_fill_hover": "var(--accent)",
    "button_primary_text_color": "var(--accent-ink)", "button_primary_text_color_hover": "var(--accent-ink)",
    "button_primary_border_color": "var(--accent)", "button_primary_border_color_hover": "var(--accent)",
    "button_secondary_background_fill": "var(--surface)", "button_secondary_background_fill_hover": "var(--surface-2)",
    "button_secondary_text_color": "var(--ink)", "button_secondary_text_color_hover": "var(--accent)",
    "button_secondary_border_color": "var(--line)", "button_secondary_border_color_hover": "var(--accent)",
    "checkbox_background_color": "var(--surface)", "checkbox_background_color_hover": "var(--surface)",
    "checkbox_background_color_focus": "var(--surface)", "checkbox_background_color_selected": "var(--accent)",
    "checkbox_border_color": "var(--ink-3)", "checkbox_border_color_hover": "var(--accent)",
    "checkbox_border_color_focus": "var(--accent)", "checkbox_border_color_selected": "var(--accent)",
    "checkbox_label_background_fill": "transparent", "checkbox_label_background_fill_hover": "transparent",
    "checkbox_label_background_fill_selected": "transparent", "checkbox_label_text_color": "var(--ink)",
    "checkbox_label_text_color_selected": "var(--ink)", "checkbox_label_border_color": "transparent",
    "checkbox_label_border_color_hover": "transparent", "checkbox_label_border_color_selected": "transparent",
    "accordion_text_color": "var(--ink)", "link_text_color": "var(--accent)", "link_text_color_active": "var(--accent)",
    "link_text_color_hover": "var(--accent)", "link_text_color_visited": "var(--accent)",
    "slider_color": "var(--accent)", "loader_color": "var(--accent)", "error_background_fill": "var(--surface)",
    "error_border_color": "var(--fail)", "error_text_color": "var(--fail)", "error_icon_color": "var(--fail)",
    "table_text_color": "var(--ink)", "code_background_fill": "var(--surface-2)", "shadow_drop": "none",
    "block_shadow": "none", "button_primary_shadow": "none", "button_secondary_shadow": "none",
    "checkbox_label_shadow": "none", "input_shadow": "none", "checkbox_shadow": "none",
}
SAME_IN_DARK = frozenset({"shadow_drop", "checkbox_shadow"})
ONCE = {
    "block_title_text_weight": "700", "block_label_text_weight": "700", "button_large_text_weight": "700",
    "button_medium_text_weight": "700", "button_small_text_weight": "700", "section_header_text_weight": "700",
    "block_title_text_size": "0.875rem", "block_info_text_size": "0.8125rem", "block_radius": "8px",
    "block_border_width": "0px", "input_border_width": "1px", "block_padding": "4px 0", "block_title_padding": "0", "container_radius": "8px",
    "button_large_radius": "6px", "button_medium_radius": "6px", "input_radius": "6px", "layout_gap": "12px",
    "form_gap_width": "16px", "button_border_width": "1px", "checkbox_label_padding": "4px 8px 4px 0", "body_text_size": "1rem", "input_text_size": "0.9375rem",
}


def theme() -> gr.themes.Base:
    """The app's theme; the dark value of every colour is the same variable, which `.dark` changes."""
    made = gr.themes.Base(font=["Plex Sans", "system-ui", "sans-serif"], font_mono=["Plex Mono", "ui-monospace", "monospace"])
    dark = {f"{name}_dark": value for name, value in BOTH.items() if name not in SAME_IN_DARK}
    return made.set(**BOTH, **ONCE, **dark)
