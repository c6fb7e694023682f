// Colours of what Bokeh draws, from the page's own: light, dark, or whatever the reader's contrast asks for.

const Theme = {
  value(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  },

  get dark() {
    return matchMedia("(prefers-color-scheme: dark)").matches;
  },

  dress(plots, doc) {
    for (const model of doc.all_models) {
      const ink = /-(?:ink|hatch)-(text|bad|cause)$/.exec(model.name || "");
      if (ink && "text_color" in model) model.text_color = this.value(ink[1]);
      if (ink && "hatch_color" in model) model.hatch_color = this.value(ink[1]);
    }
    const [text, line, back] = [this.value("text"), this.value("line"), this.value("back")];
    doc.get_model_by_name("cursor").line_color = text;
    doc.get_model_by_name("selected").setv({ fill_color: this.value("link"), line_color: this.value("link") });
    for (const plot of Object.values(plots)) {
      plot.background_fill_color = back;
      plot.border_fill_color = back;
      for (const axis of [...plot.above, ...plot.below, ...plot.left]) {
        if (!axis.major_label_text_color) continue;
        axis.major_label_text_color = text;
        axis.axis_line_color = axis.dimension === 1 ? null : line;
        axis.major_tick_line_color = axis.dimension === 1 ? null : line;
        axis.minor_tick_line_color = null;
      }
      for (const grid of plot.center) if ("grid_line_color" in grid) grid.grid_line_color = line;
    }
  },

  watch(again) {
    for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) matchMedia(query).addEventListener("change", again);
  },
};
